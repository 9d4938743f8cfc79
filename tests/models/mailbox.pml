/* SPDX-License-Identifier: MIT
 *
 * mailbox.pml - a mailbox of many posters, who makes its actor runnable, and the last word of a turn.
 *
 * The protocol of put, end_turn, run_turn and tp_post_last in actors/stage.c. Each step is one atomic operation
 * there and has the name of the point before it (TP_PACE). How a runnable actor comes from one thread to
 * another is stage.pml's: here it is one step, publish_push, and its taking another, take_look.
 *
 * Two threads post two messages each to one actor, and two run its turns. With its fourth message it says its last
 * word, to an inbox whose owner then frees the actor.
 */
#ifndef FAULT
#define FAULT 0
#endif

mtype = { w0, w1, p0, p1, o };
mtype = { put, put_mail, publish_push, take_look, turn_begin, turn_end, inbox_take };
#define STEP(point) printf("STEP %e %e\n", me, point)

#define ALL 4

bit asleep = 1;      /* the box is TP_ASLEEP */
byte box[ALL];       /* oldest first: sender * 2 + number */
byte n_box;
byte published;      /* how often the actor is in a queue of runnable ones */
byte turns;          /* that run at this moment */
byte next[2];        /* per sender: the number that comes next */
byte handled;
bit told, freed;

/* tp_post_outside: put, and make it runnable when it was asleep */
proctype Poster(byte sender; mtype me) {
    bit first;
    byte number;
    do
    :: number < 2 ->
        d_step {
            first = asleep || (FAULT == 20 && !n_box);
            asleep = 0;
            box[n_box] = sender * 2 + number;
            n_box++;
            number++;
            STEP(put)
        };
        if
        :: first ->
            d_step { STEP(publish_push); published++; assert(published == 1); first = 0 }
        :: else
        fi
    :: else -> break
    od
}

inline HANDLE(m) {
    assert(m % 2 == next[m / 2]);
    next[m / 2]++;
    handled++;
    m = 0
}

/* run_turn and end_turn */
inline TURN() {
    d_step {
        STEP(turn_begin);
        assert(n_box && !freed);
        turns++;
        assert(turns == 1);
        do
        :: i < n_box ->
            if
            :: FAULT == 21 -> HANDLE(box[n_box - 1 - i])
            :: else -> HANDLE(box[i])
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        n_box = 0;
        last = handled == ALL
    };
    if
    :: FAULT == 19 && last -> d_step { told = 1; last = 0; STEP(put_mail) }
    :: else
    fi;
    d_step {
        STEP(turn_end);
        assert(!freed);
        turns--;
        if
        :: n_box && FAULT != 6 -> again = 1
        :: else -> n_box = 0; asleep = 1
        fi
    };
    if
    :: last -> d_step { told = 1; last = 0; STEP(put_mail) }
    :: else
    fi
}

proctype Runner(mtype me) {
    bit again, last;
    byte i;
    do
    :: again -> again = 0; TURN()
    :: d_step { !again && published -> published--; STEP(take_look) }; TURN()
    :: !again && freed -> break
    od
}

proctype Owner() {
    mtype me = o;
    d_step { told -> freed = 1; STEP(inbox_take) }
}

init {
    atomic {
        run Runner(w0);
        run Runner(w1);
        run Owner();
        run Poster(0, p0);
        run Poster(1, p1)
    };
    _nr_pr == 1 -> assert(asleep && !n_box && handled == ALL && !published)
}
