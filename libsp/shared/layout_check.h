/* layout_check.h: size and place of every field that both sides of a segment share. Included by layout.h alone. A line
 * that fails means that programs and daemons of two builds would misread each other: restore the field, or raise
 * SP__ABI_MAJOR (SP__ABI_MINOR where something was only appended) and then the number here. */
#ifndef SP__LAYOUT_CHECK_H
#define SP__LAYOUT_CHECK_H

SP__IS(sp__anchor, 16);
SP__AT(sp__anchor, ticks, 0);
SP__AT(sp__anchor, mono_ns, 8);

SP__IS(sp__identity, 4544);
SP__AT(sp__identity, session, 0);
SP__AT(sp__identity, hostname, 72);
SP__AT(sp__identity, boot_id, 328);
SP__AT(sp__identity, prefix, 368);
SP__AT(sp__identity, incarnation, 4464);
SP__AT(sp__identity, name_hash, 4480);
SP__AT(sp__identity, rank, 4488);
SP__AT(sp__identity, uid, 4492);
SP__AT(sp__identity, pid, 4496);
SP__AT(sp__identity, clock, 4500);
SP__AT(sp__identity, mode, 4504);
SP__AT(sp__identity, language, 4508);
SP__AT(sp__identity, part, 4512);
SP__AT(sp__identity, pid_space, 4516);
SP__AT(sp__identity, birth, 4520);
SP__AT(sp__identity, birth_realtime_ns, 4536);

SP__IS(sp__answer, 4112);
SP__AT(sp__answer, seq, 0);
SP__AT(sp__answer, status, 4);
SP__AT(sp__answer, error, 8);
SP__AT(sp__answer, format, 12);
SP__AT(sp__answer, path, 16);

SP__IS(sp__header, 13056);
SP__AT(sp__header, magic, 0);
SP__AT(sp__header, abi_major, 8);
SP__AT(sp__header, abi_minor, 12);
SP__AT(sp__header, byte_order, 16);
SP__AT(sp__header, header_size, 20);
SP__AT(sp__header, segment_size, 24);
SP__AT(sp__header, lanes_offset, 32);
SP__AT(sp__header, regions_offset, 40);
SP__AT(sp__header, heap_offset, 48);
SP__AT(sp__header, lane_capacity, 56);
SP__AT(sp__header, lane_stride, 60);
SP__AT(sp__header, region_capacity, 64);
SP__AT(sp__header, region_stride, 68);
SP__AT(sp__header, record_size, 72);
SP__AT(sp__header, stack_entry_size, 76);
SP__AT(sp__header, stats_entry_size, 80);
SP__AT(sp__header, stats_block_regions, 84);
SP__AT(sp__header, identity, 88);
SP__AT(sp__header, state, 4672);
SP__AT(sp__header, format, 4676);
SP__AT(sp__header, epoch, 4680);
SP__AT(sp__header, bank, 4684);
SP__AT(sp__header, region_count, 4736);
SP__AT(sp__header, lanes_used, 4740);
SP__AT(sp__header, threads, 4744);
SP__AT(sp__header, flush_request, 4748);
SP__AT(sp__header, heap_next, 4752);
SP__AT(sp__header, lost_no_lane, 4760);
SP__AT(sp__header, lost_regions, 4768);
SP__AT(sp__header, bell_cpu, 4776);
SP__AT(sp__header, spool_chosen, 4800);
SP__AT(sp__header, flush_done, 4804);
SP__AT(sp__header, spooled, 4808);
SP__AT(sp__header, published, 4812);
SP__AT(sp__header, consumer_beat_ns, 4816);
SP__AT(sp__header, answer, 4824);
SP__AT(sp__header, spool, 8936);

SP__IS(sp__record, 24);
SP__AT(sp__record, start, 0);
SP__AT(sp__record, end, 8);
SP__AT(sp__record, region, 16);
SP__AT(sp__record, depth, 20);
SP__AT(sp__record, kind, 22);

SP__IS(sp__open, 32);
SP__AT(sp__open, start, 0);
SP__AT(sp__open, nested, 8);
SP__AT(sp__open, region, 16);
SP__AT(sp__open, flags, 20);
SP__AT(sp__open, token, 24);

SP__IS(sp__stats, 48);
SP__AT(sp__stats, calls, 0);
SP__AT(sp__stats, total, 8);
SP__AT(sp__stats, minimum, 16);
SP__AT(sp__stats, maximum, 24);
SP__AT(sp__stats, exclusive, 32);
SP__AT(sp__stats, histogram, 40);

SP__IS(sp__lane, 192);
SP__AT(sp__lane, head, 0);
SP__AT(sp__lane, depth, 8);
SP__AT(sp__lane, claimed, 12);
SP__AT(sp__lane, dropped, 16);
SP__AT(sp__lane, waited_ns, 24);
SP__AT(sp__lane, mended, 32);
SP__AT(sp__lane, unmatched, 40);
SP__AT(sp__lane, too_deep, 48);
SP__AT(sp__lane, owner, 56);
SP__AT(sp__lane, tail, 64);
SP__AT(sp__lane, ring_offset, 128);
SP__AT(sp__lane, ring_records, 136);
SP__AT(sp__lane, stack_offset, 144);
SP__AT(sp__lane, stats_offset, 152);
SP__AT(sp__lane, base, 160);
SP__AT(sp__lane, ready, 176);
SP__AT(sp__lane, signal_lane, 180);

SP__IS(sp__region, 32);
SP__AT(sp__region, name_offset, 0);
SP__AT(sp__region, name_length, 8);
SP__AT(sp__region, line, 12);
SP__AT(sp__region, file_offset, 16);
SP__AT(sp__region, file_length, 24);
SP__AT(sp__region, reserved, 28);

/* What one side writes again and again shares no cache line with what the other one does, or with what both only read. */
#define SP__LINE_OF(type, member)          (offsetof(struct type, member) / SP__LINE)
#define SP__APART(type, member, other)     (SP__LINE_OF(type, member) != SP__LINE_OF(type, other))
#define SP__ON_ONE_LINE(type, first, last) (SP__LINE_OF(type, first) == SP__LINE_OF(type, last))
_Static_assert(_Alignof(struct sp__lane) == SP__LINE && sizeof(struct sp__lane) % SP__LINE == 0, "lanes share a line");
_Static_assert(SP__ON_ONE_LINE(sp__lane, head, owner), "a producer's words lie on one line");
_Static_assert(SP__APART(sp__lane, owner, tail) && SP__APART(sp__lane, tail, ring_offset),
               "the consumer's word has a line of its own");
_Static_assert(_Alignof(struct sp__header) == SP__LINE &&
                   SP__LINE_OF(sp__header, state) * SP__LINE == offsetof(struct sp__header, state),
               "the word that every call reads begins a line");
_Static_assert(SP__APART(sp__header, state, region_count) && SP__APART(sp__header, bank, region_count) &&
                   SP__APART(sp__header, bell_cpu, spool_chosen) && SP__APART(sp__header, state, spool_chosen),
               "what the consumer writes lies on no line that a call reads");

#endif
