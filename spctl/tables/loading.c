#include "loading.h"

#include <stdio.h>

#include "inputs.h"
#include "say.h"

static const char *name_of(struct loaded *loaded, const struct arguments *arguments)
{
    const char *session = sp_inputs_session(loaded->inputs);
    if (arguments->count == 1)
        return session && *session ? session : arguments->operands[0];
    snprintf(loaded->source, sizeof loaded->source, "%zu inputs", arguments->count);
    return loaded->source;
}

static int failed(const sp_error *error)
{
    say("%s", error->text);
    return error->status == SP_ERR_USAGE ? END_USAGE : END_FAILED;
}

static int load(struct loaded *loaded, const struct arguments *arguments, const struct loading *wanted)
{
    sp_error error = {0};
    struct bad_inputs bad = {0};
    bool timed = wanted->selection->from || wanted->selection->to;
    int end = END_DONE;
    if (sp_inputs_create(&loaded->inputs, &error) < 0)
        return failed(&error);
    sp_inputs_probe(loaded->inputs, wanted->calls || timed ? SP_PROBE_ALL : SP_PROBE_STATISTICS);
    inputs_collect(loaded->inputs, arguments, &bad, NULL);
    if (bad.nothing + sp_inputs_bad(loaded->inputs) > 0)
        return END_FAILED;
    sp_inputs_on_bad(loaded->inputs, NULL, NULL);
    progress_begin(&loaded->progress, "reading");
    sp_inputs_on_progress(loaded->inputs, progress_show, &loaded->progress);
    if (!selection_narrow(wanted->selection, loaded->inputs, &end))
        return end;
    if (sp_results_load(&loaded->results, loaded->inputs, true, &error) < 0)
        return failed(&error);
    progress_end();
    loaded->name = name_of(loaded, arguments);
    return END_DONE;
}

int loaded_open(struct loaded *ret, const struct arguments *arguments, const struct loading *wanted)
{
    *ret = (struct loaded){0};
    int end = load(ret, arguments, wanted);
    if (end != END_DONE)
        loaded_close(ret);
    return end;
}

void loaded_close(struct loaded *loaded)
{
    sp_results_destroy(loaded->results);
    sp_inputs_destroy(loaded->inputs);
    *loaded = (struct loaded){0};
}
