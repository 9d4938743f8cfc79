/* SPDX-License-Identifier: MIT
 *
 * stage.pml - published work, looking for it, sleep and wake, a helper that leaves, timers, the end.
 *
 * The protocol of actors/stage.c and actors/stage_threads.c. Each step is one atomic operation there and
 * has the name of the point before it (TP_PACE), so that a trail is a schedule for the code; what a
 * thread does alone between two points belongs to the step before.
 *
 * P posts two pieces of work. CALL makes the caller's call end: its turn posts to the inbox of the helper C, and
 * leaves the runnable MORE with who runs it. OTHER is long and works for another caller: C must leave it to
 * the workers. With CHAIN, both pieces are such, and the turn of the second makes CALL runnable: C's call
 * waits for what C may not run. With TIMER, P sets a deadline instead of posting OTHER, and time may come
 * at any moment. At the end P stops the stage. No thread may be left behind: that is the absence of invalid
 * end states.
 *
 * Spin's steps are in one order for all. A fence that is missing shows as FAULT 11, the announcement after the
 * look: that is what a processor makes of a store that may pass a later load. Which orders the code asks for
 * stands beside each operation; tests/test_actors_stage.c and the thread sanitizer try them.
 */
#ifndef FAULT
#define FAULT 0
#endif
#ifndef WORKERS
#define WORKERS 1
#endif

mtype = { w0, w1, c, p };
mtype = {
    put, put_mail, publish_push, publish_count, publish_look, wake_pick, unpark_look, unpark_take,
    unpark_wake, call_set, take_look, take_lock, take_called, take_fill, take_count, take_unlock, pass_look, pass_spinning,
    turn_begin, spin_begin, spin_look, spin_end, park_announce, park_idle, park_stop, park_look,
    park_mail, park_until, park_sleep, park_awake, park_leave, worker_stop, inbox_take, stop_set,
    timer_set, timer_fire
};
#define STEP(point) printf("STEP %e %e\n", me, point)

/* Whether threads spin before they sleep: for the code it depends on the time. */
#ifdef SPIN
#define LOOKS_FIRST (SPIN)
#define LOOKS_NOT   (!SPIN)
#else
#define LOOKS_FIRST true
#define LOOKS_NOT   true
#endif

#define SEATS (WORKERS + 1)
#define HELPER WORKERS
#define NONE 7
#define CALL 0
#define MORE 1
#define FIRST 2
#define OTHER 3
#define LONG(work) ((work) >= FIRST) /* and another caller's */

byte inject[4], fifo[4];
byte n_inject, n_fifo;
short published;
bit busy;
byte spinning;
bit idle[SEATS], parked[SEATS], asleep[SEATS];
bit stop, mail, helper_gone;
bit called;          /* the helper, to work of its own calls */
bit done[4];
byte deadline;       /* 0: there is no timer; 1: it waits; 2: its time has come; 3: it has fired */
bit limited[SEATS];  /* who sleeps does so until the deadline */

/* tp_stage_unpark */
inline UNPARK(seat) {
    d_step { seen = parked[seat]; STEP(unpark_look) };
    if
    :: seen -> d_step { seen = parked[seat]; parked[seat] = 0; STEP(unpark_take) };
        if
        :: seen -> d_step { asleep[seat] = 0; seen = 0; woke = 1; STEP(unpark_wake) }
        :: else
        fi
    :: else
    fi
}

/* tp_stage_wake_one: the loop of loads and exchanges is one step, since only its last round counts */
inline WAKE_ONE() {
    d_step {
        target = 0;
        do
        :: target < SEATS && !idle[target] -> target++
        :: else -> break
        od;
        if
        :: target < SEATS -> idle[target] = 0
        :: else -> target = NONE
        fi;
        STEP(wake_pick)
    };
    if
    :: target != NONE -> UNPARK(target); target = NONE; woke = 0
    :: else
    fi
}

/* publish_to: the helper is told of what it may run, and when it waits for it, nobody else is woken */
inline PUBLISH(piece) {
    d_step { inject[n_inject] = piece; n_inject++; STEP(publish_push) };
    d_step { published++; STEP(publish_count) };
    if
    :: !LONG(piece) -> d_step { called = 1; STEP(call_set) }; UNPARK(HELPER)
    :: else
    fi;
    if
    :: woke -> woke = 0
    :: else ->
        d_step { seen = spinning > 0; STEP(publish_look) };
        if
        :: !seen -> WAKE_ONE()
        :: else -> seen = 0
        fi
    fi
}

/* pass_on */
inline PASS_ON() {
    d_step { seen = published > 0; STEP(pass_look) };
    if
    :: seen -> d_step { seen = spinning > 0; STEP(pass_spinning) };
        if
        :: !seen -> WAKE_ONE()
        :: else -> seen = 0
        fi
    :: else
    fi
}

/* take_published; what is found stands in `work` */
inline TAKE(seat, others) {
    d_step { refused = 0; seen = published > 0; STEP(take_look) };
    if
    :: seen ->
        d_step {
            seen = busy;
            busy = 1;
            woke = !seen && seat == HELPER && called; /* looked at with the lock */
            STEP(take_lock)
        };
        if
        :: !seen ->
            if
            :: woke -> d_step { called = 0; woke = 0; STEP(take_called) }
            :: else
            fi;
            d_step {
                target = 0;
                do
                :: target < n_inject -> fifo[n_fifo] = inject[target]; n_fifo++; inject[target] = 0; target++
                :: else -> break
                od;
                n_inject = 0;
                target = 0;
                do /* pop_published */
                :: target < n_fifo && !(others) && LONG(fifo[target]) -> target++
                :: else -> break
                od;
                if
                :: target < n_fifo ->
                    work = fifo[target];
                    n_fifo--;
                    do
                    :: target < n_fifo -> fifo[target] = fifo[target + 1]; target++
                    :: else -> break
                    od;
                    fifo[n_fifo] = 0
                :: else -> refused = n_fifo > 0
                fi;
                target = NONE;
                STEP(take_fill)
            };
            if
            :: work != NONE -> d_step { published--; STEP(take_count) }
            :: else
            fi;
            d_step { busy = 0; STEP(take_unlock) };
            if
            :: (work != NONE || refused) && FAULT != 15 -> PASS_ON()
            :: else
            fi
        :: else -> seen = 0
        fi
    :: else
    fi
}

/* run_turn: the exchange, and what the handler does before its next point. CALL posts CALL_DONE to the helper's
 * inbox (deliver, and the `mail` of the caller's role), then makes MORE runnable here. */
inline TURN(seat) {
    d_step {
        assert(!done[work]);
        done[work] = 1;
        STEP(turn_begin)
    };
    if
    :: work == CALL ->
        d_step { mail = 1; STEP(put_mail) };
        if
        :: seat != HELPER -> UNPARK(HELPER); woke = 0
        :: else
        fi;
        d_step { work = NONE; mine = MORE; STEP(put) }
#ifdef CHAIN
    :: work == OTHER -> d_step { work = NONE; mine = CALL; STEP(put) }
#endif
    :: else -> work = NONE
    fi
}

/* tp_stage_turn: its own queue, then published work; `ran` says whether there was any */
inline SEAT_TURN(seat, others) {
    if
    :: mine != NONE -> work = mine; mine = NONE
    :: else -> TAKE(seat, others)
    fi;
    if
    :: work != NONE -> ran = 1; TURN(seat)
    :: else -> ran = 0
    fi
}

/* tp_stage_spin with one look; more of them are as many calls of it */
inline LOOK(sees_mail) {
    d_step {
        takes = !refused || FAULT == 16;
        if
        :: takes -> spinning++
        :: else
        fi;
        STEP(spin_begin)
    };
    d_step {
        hit = ((!refused || (sees_mail && called)) && published > 0) || (sees_mail && mail);
        STEP(spin_look)
    };
    if
    :: FAULT == 12 && takes && !hit -> owes = 1; takes = 0
    :: else ->
        d_step {
            if
            :: takes -> spinning--
            :: else
            fi;
            takes = 0;
            STEP(spin_end)
        }
    fi
}

/* nothing_to_do */
inline NOTHING_TO_DO(sees_mail) {
    d_step { nothing = !stop; STEP(park_stop) };
    if
    :: nothing && FAULT != 7 ->
        d_step {
            nothing = (refused && !(sees_mail && called)) || published <= 0;
            STEP(park_look)
        };
        if
        :: nothing -> d_step { nothing = !(sees_mail && mail); STEP(park_mail) }
        :: else
        fi
    :: else
    fi
}

/* tp_timers_run */
inline FIRE() {
    d_step {
        if
        :: deadline == 2 -> deadline = 3
        :: else
        fi
    }
}

/* tp_stage_park, with the kernel's futex: it compares and sleeps in one step */
inline PARK(seat, sees_mail) {
    if
    :: FAULT == 11 -> NOTHING_TO_DO(sees_mail)
    :: else
    fi;
    d_step { parked[seat] = 1; STEP(park_announce) };
    d_step { idle[seat] = 1; STEP(park_idle) };
    if
    :: FAULT != 11 -> NOTHING_TO_DO(sees_mail)
    :: else
    fi;
    if
    :: nothing ->
        d_step { nothing = 0; limited[seat] = deadline == 1 || deadline == 2; STEP(park_until) };
        d_step { asleep[seat] = parked[seat]; STEP(park_sleep) };
        atomic {
            !asleep[seat] || (limited[seat] && deadline == 2) ->
            asleep[seat] = 0; limited[seat] = 0
        }
    :: else
    fi;
    d_step { parked[seat] = 0; STEP(park_awake) };
    d_step { idle[seat] = 0; STEP(park_leave) };
    d_step {
        if
        :: owes -> owes = 0; spinning--
        :: else
        fi
    };
    FIRE()
}

/* tp_stage_worker */
proctype Worker(byte seat; mtype me) {
    bit seen, woke, refused, ran, hit, takes, owes, nothing;
    byte work = NONE, mine = NONE, target = NONE;
    do
    :: d_step { seen = stop; STEP(worker_stop) };
        if
        :: seen -> seen = 0; break
        :: else
        fi;
        SEAT_TURN(seat, true);
        if
        :: ran -> ran = 0
        :: else ->
            if
            :: LOOKS_FIRST -> LOOK(false)
            :: LOOKS_NOT
            fi;
            if
            :: hit -> hit = 0
            :: else -> PARK(seat, false)
            fi
        fi
    od
}

/* tp_caller_wait */
proctype Helper() {
    mtype me = c;
    bit seen, woke, refused, ran, hit, takes, owes, nothing, over;
    byte work = NONE, mine = NONE, target = NONE;
    do
    :: d_step { over = mail; mail = 0; STEP(inbox_take) };
        if
        :: over -> break
        :: else
        fi;
        SEAT_TURN(HELPER, false);
        if
        :: ran -> ran = 0
        :: else ->
            if
            :: LOOKS_FIRST -> LOOK(true)
            :: LOOKS_NOT
            fi;
            if
            :: hit -> hit = 0
            :: else -> PARK(HELPER, true)
            fi
        fi
    od;
    /* tp_stage_leave: MORE is long, so it is published */
    if
    :: mine != NONE && FAULT != 13 -> mine = NONE; PUBLISH(MORE)
    :: else
    fi;
    if
    :: FAULT != 14 && FAULT != 13 -> PASS_ON()
    :: else
    fi;
    helper_gone = 1
}

proctype Poster() {
    mtype me = p;
    bit seen, woke;
    byte target = NONE;
    STEP(put);
#ifdef CHAIN
    PUBLISH(FIRST);
#else
    PUBLISH(CALL);
#endif
#ifdef TIMER
    /* set_deadline */
    d_step { deadline = 1; STEP(timer_set) };
    if
    :: FAULT != 17 -> WAKE_ONE()
    :: else
    fi;
    deadline == 3;
    done[CALL] && done[MORE] && helper_gone;
#else
    STEP(put);
    PUBLISH(OTHER);
    done[CALL] && done[MORE] && done[OTHER] && helper_gone;
#ifdef CHAIN
    done[FIRST];
#endif
#endif
    /* tp_stage_stop */
    d_step { stop = 1; STEP(stop_set) };
    UNPARK(0);
#if WORKERS > 1
    UNPARK(1)
#endif
}

#ifdef TIMER
proctype Clock() {
    deadline == 1 -> deadline = 2
}
#endif

init {
    atomic {
#ifdef SPIN
        printf("SET spin %d\n", SPIN);
#endif
        printf("SET workers %d\n", WORKERS);
#ifdef CHAIN
        printf("SET chain 1\n");
#endif
#ifdef TIMER
        printf("SET timer 1\n");
#endif
        run Worker(0, w0);
#if WORKERS > 1
        run Worker(1, w1);
#endif
        run Helper();
#ifdef TIMER
        run Clock();
#endif
        run Poster()
    };
    _nr_pr == 1 -> assert(published == 0 && spinning == 0 && !n_inject && !n_fifo && !busy)
}
