/* lane.pml: one lane of a segment, everybody who drains it, and every instant at which one of them can be killed.
 *
 * A program appends CALLS records to a ring of RING. spd drains it, may be killed and is started again. While nobody
 * drains, the program does it for itself when the ring is full. The program may be killed too: then spd, or a newcomer that
 * starts over the dead segment, drains what is left and removes the name. Byte 0 of the segment says that the program
 * lives, byte 1 who drains, byte 2 who removes the name; the kernel gives all of them back at a death.
 *
 * In every state: one consumer at most; no record twice in the spool; none written over before it was copied; the name
 * goes only when all is in the spool. In every end: whatever was published to the ring stands in the spool, the name is
 * gone.
 *
 *   spin -a lane.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * Each of these, given to spin, takes one defence away, and the check must then fail:
 *   -DTAIL_FIRST       tail moves before the block is written: a record is lost
 *   -DTAIL_ALONE       a consumer goes on at tail, whatever the spool holds: a record stands twice
 *   -DNO_LOCK          whoever wants to drain does: two consumers
 */
#ifndef RING
#define RING 2
#endif
#ifndef CALLS
#define CALLS 4
#endif

mtype = { recording, finalizing, finalized };
#define NOBODY 0
#define PROGRAM 1
#define NEWCOMER 2
#define DAEMON 3 /* and DAEMON + 1, its second life */
#define ACTORS 5

/* Shared memory. Sequence numbers count from 0: what lies below head is published, what lies below tail was taken. */
byte head, tail;
byte ring[RING];
mtype state = recording;
bool named = true;

/* The kernel's. */
byte byte0 = PROGRAM, byte1, byte2; /* who holds them */
bool killed[ACTORS];
bool gone[ACTORS];

/* The spool: whole frames of one record each; a torn one is cut by the next who appends. */
byte spooled[CALLS];
byte spool_end;

#define drained (spool_end == head)

inline die(me) {
    d_step {
        if :: byte0 == me -> byte0 = NOBODY :: else fi;
        if :: byte1 == me -> byte1 = NOBODY :: else fi;
        if :: byte2 == me -> byte2 = NOBODY :: else fi;
        gone[me] = true
    }
}

/* Takes byte 1 where it is free; `next` is where to go on: behind what the spool holds, since the consumer before may have
 * died after writing a frame and before moving tail. */
inline try_consume(me) {
#ifdef NO_LOCK
    d_step { mine = true; byte1 = me };
#else
    d_step { mine = (byte1 == NOBODY); if :: mine -> byte1 = me :: else fi };
#endif
    if
#ifdef TAIL_ALONE
    :: mine -> next = tail
#else
    :: mine -> next = (spool_end > tail -> spool_end : tail); tail = next
#endif
    :: else
    fi
}

inline write_block() { /* a death within leaves a torn frame, which counts for nothing, as if it had come before */
    d_step { spooled[next]++; assert(spooled[next] == 1); spool_end = next + 1 }
}

inline drain(me) {
    upto = head; /* acquire: pairs with the program's release after the record */
    do
    :: next < upto ->
        assert(byte1 == me);
        copy = ring[next % RING];
        assert(copy == next); /* nobody wrote over it */
#ifdef TAIL_FIRST
        tail = next + 1;
        write_block();
        next++
#else
        write_block();
        next++;
        tail = next /* release: pairs with the program's acquire before it reuses the slot */
#endif
    :: else -> break
    od
}

inline release(me) {
    d_step { assert(byte1 == me); byte1 = NOBODY }
}

/* Byte 2, then another look at byte 0 and the name; only then the name goes. */
inline remove_name(me) {
    d_step { mine = (byte2 == NOBODY); if :: mine -> byte2 = me :: else fi };
    if
    :: mine ->
        if
        :: named && (byte0 == NOBODY || byte0 == me) -> assert(drained); named = false
        :: else
        fi;
        byte2 = NOBODY
    :: else
    fi
}

active proctype program() {
    byte next, upto, copy, made;
    bool mine;
    {
        do
        :: made < CALLS && head - tail < RING -> /* acquire of tail */
            ring[head % RING] = made;
            made++;
            head++ /* release */
        :: made < CALLS && head - tail >= RING ->
            /* Full. Where somebody drains it waits (the bound on that is a dropped record, counted, and changes nothing
             * here); where nobody does, it does. */
            try_consume(PROGRAM);
            if
            :: mine -> drain(PROGRAM); release(PROGRAM)
            :: else
            fi
        :: made == CALLS -> break
        od;
        state = finalizing;
        do /* waits for "spooled", or takes the place of a consumer that is gone */
        :: drained -> break
        :: else ->
            try_consume(PROGRAM);
            if
            :: mine -> drain(PROGRAM); release(PROGRAM)
            :: else
            fi
        od;
        state = finalized;
        remove_name(PROGRAM)
    } unless { killed[PROGRAM] };
    die(PROGRAM)
}

/* What spd and a newcomer do alike with a segment whose program is gone: the last look comes after byte 0 was free. */
inline clear_away(me) {
    try_consume(me);
    if
    :: mine -> drain(me); remove_name(me); release(me)
    :: else
    fi
}

inline daemon_life(me) {
    {
        do
        :: !named -> break
        :: named && byte0 != NOBODY ->
            try_consume(me);
            if
            :: mine ->
                do
                :: named && byte0 != NOBODY && next < head -> drain(me)
                :: !named || byte0 == NOBODY -> break
                :: byte0 != NOBODY && next >= head -> skip /* idle: looks again */
                od;
                release(me)
            :: else
            fi
        :: named && byte0 == NOBODY -> clear_away(me)
        od
    } unless { killed[me] };
    die(me)
}

active proctype first_daemon() {
    byte next, upto, copy;
    bool mine;
    daemon_life(DAEMON)
}

active proctype second_daemon() {
    byte next, upto, copy;
    bool mine;
    gone[DAEMON]; /* started again */
    {
        do
        :: !named -> break
        :: named && byte0 != NOBODY ->
            try_consume(DAEMON + 1);
            if
            :: mine -> drain(DAEMON + 1); release(DAEMON + 1)
            :: else
            fi
        :: named && byte0 == NOBODY -> clear_away(DAEMON + 1)
        od
    };
    die(DAEMON + 1)
}

active proctype newcomer() {
    byte next, upto, copy;
    bool mine;
    {
        gone[PROGRAM]; /* started over the dead segment */
        do
        :: !named -> break
        :: named -> clear_away(NEWCOMER)
        od
    } unless { killed[NEWCOMER] };
    die(NEWCOMER)
}

/* Kills any of them at any instant, or does not. */
active proctype killer() {
    if :: killed[DAEMON] = true :: skip fi;
    if :: killed[PROGRAM] = true :: skip fi;
    if :: killed[NEWCOMER] = true :: skip fi
}

/* When all have come to their end. */
active proctype judge() {
    byte i;
    gone[PROGRAM] && gone[DAEMON] && gone[DAEMON + 1] && gone[NEWCOMER];
    d_step {
        assert(!named && drained);
        do
        :: i < head -> assert(spooled[i] == 1); i++
        :: else -> break
        od
    }
}
