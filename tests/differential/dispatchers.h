/* Dispatchers and notification objects. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void say_dispatcher(DAT_EVD_HANDLE evd)
{
    DAT_EVD_PARAM param;
    DAT_RETURN value;

    memset(&param, 0, sizeof param);
    value = dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
    say("query", "%s, length %d, state %#x, flags %#x", code(value), (int)param.evd_qlen,
        (unsigned)param.evd_state, (unsigned)param.evd_flags);
}

static void dispatchers(void)
{
    DAT_EVD_HANDLE evd;
    DAT_CNO_HANDLE cno, triggered;
    DAT_CNO_PARAM cno_param;
    DAT_EVD_PARAM param;
    DAT_EVENT event, soft;
    DAT_COUNT more, lengths[] = {1, 2, 8, 100, 1000, 0, -1, 10000000, 0x7fffffff};
    DAT_EVD_FLAGS flags[] = {0, DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
        DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG, DAT_EVD_DEFAULT_FLAG, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
        DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
        DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG, 0x2, 0x400, 0xffff};

    memset(&soft, 0, sizeof soft);
    soft.event_number = DAT_SOFTWARE_EVENT;
    open_adapter();
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        if (begins("create: flags %#x", (unsigned)flags[i])) {
            if (said(dat_evd_create(ia, 8, DAT_HANDLE_NULL, flags[i], &evd)) != DAT_SUCCESS)
                continue;
            say_dispatcher(evd);
            say("software event", "%s", code(dat_evd_post_se(evd, &soft)));
            say("free", "%s", code(dat_evd_free(evd)));
        }
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (begins("create: length %d", (int)lengths[i])) {
            if (said(dat_evd_create(ia, lengths[i], DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd)) != DAT_SUCCESS)
                continue;
            say_dispatcher(evd);
            say("free", "%s", code(dat_evd_free(evd)));
        }
    MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    TRY(dat_evd_dequeue(evd, &event), "dequeue: empty, software");
    TRY(dat_evd_wait(evd, 0, 1, &event, &more), "wait: empty, time-out 0");
    TRY(dat_evd_wait(evd, 1000, 1, &event, &more), "wait: empty, time-out 1000");
    TRY(dat_evd_wait(evd, 0, 0, &event, &more), "wait: threshold 0");
    TRY(dat_evd_wait(evd, 0, -1, &event, &more), "wait: threshold -1");
    TRY(dat_evd_wait(evd, 0, 2, &event, &more), "wait: threshold 2");
    TRY(dat_evd_wait(evd, 0, 100000, &event, &more), "wait: threshold above the length");
    if (begins("software events until it is full")) {
        int posted = 0;
        DAT_RETURN value;

        while (posted < 1000 && (value = dat_evd_post_se(evd, &soft)) == DAT_SUCCESS)
            posted++;
        said(value);
        say("at least the length", "%d", posted >= 4);
        value = dat_evd_wait(evd, 0, 2, &event, &more);
        say("wait", "%s, all others are left: %d", code(value), more == posted - 1);
        say_event("wait", &event);
        value = dat_evd_dequeue(evd, &event);
        say("dequeue", "%s", code(value));
        say("free with events", "%s", code(dat_evd_free(evd)));
        MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    }
    if (begins("software event of another number")) {
        DAT_EVENT wrong = soft;

        wrong.event_number = DAT_DTO_COMPLETION_EVENT;
        said(dat_evd_post_se(evd, &wrong));
        while (DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_SUCCESS)
            ;
    }
    if (begins("states of a dispatcher")) {
        say("disable", "%s", code(dat_evd_disable(evd)));
        say_dispatcher(evd);
        say("disable again", "%s", code(dat_evd_disable(evd)));
        say("enable", "%s", code(dat_evd_enable(evd)));
        say("unwaitable", "%s", code(dat_evd_set_unwaitable(evd)));
        say_dispatcher(evd);
        say("wait when unwaitable", "%s", code(dat_evd_wait(evd, 0, 1, &event, &more)));
        say("dequeue when unwaitable", "%s", code(dat_evd_dequeue(evd, &event)));
        say("waitable", "%s", code(dat_evd_clear_unwaitable(evd)));
    }
    TRY(dat_evd_query(evd, 0, &param), "query: no bits");
    TRY(dat_evd_query(evd, 0xff00, &param), "query: undefined bits");
    TRY(dat_evd_wait(evd, 0, 1, NULL, &more), "wait: no event");
    TRY(dat_evd_wait(evd, 0, 1, &event, NULL), "wait: no count");
    TRY(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), "modify_cno: none");
    if (begins("dequeue: empty, completions")) {
        DAT_EVD_HANDLE completions;

        MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &completions));
        said(dat_evd_dequeue(completions, &event));
        say("wait 0", "%s", code(dat_evd_wait(completions, 0, 1, &event, &more)));
        say("wait 1000", "%s", code(dat_evd_wait(completions, 1000, 1, &event, &more)));
        say("wait for 2", "%s", code(dat_evd_wait(completions, 0, 2, &event, &more)));
        dat_evd_free(completions);
    }
    TRY(dat_evd_dequeue(async, &event), "dequeue: empty, asynchronous");
    TRY(dat_evd_free(async), "free: the asynchronous one");
    if (begins("notification object")) {
        DAT_EVD_HANDLE told;

        MUST(dat_cno_create(ia, no_agent, &cno));
        say("query", "%s", code(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &cno_param)));
        say("query of undefined bits", "%s", code(dat_cno_query(cno, 0xff0, &cno_param)));
        say("wait 0", "%s", code(dat_cno_wait(cno, 0, &triggered)));
        say("wait 1000", "%s", code(dat_cno_wait(cno, 1000, &triggered)));
        say("no agent again", "%s", code(dat_cno_modify_agent(cno, no_agent)));
        MUST(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &told));
        say("free in use", "%s", code(dat_cno_free(cno)));
        say("post", "%s", code(dat_evd_post_se(told, &soft)));
        say("wait", "%s", code(dat_cno_wait(cno, 1000000, &triggered)));
        say("triggered", "%d", triggered == told);
        say("event is still there", "%s", code(dat_evd_dequeue(told, &event)));
        say("wait after that", "%s", code(dat_cno_wait(cno, 1000, &triggered)));
        say("post twice", "%s", code(dat_evd_post_se(told, &soft)));
        dat_evd_post_se(told, &soft);
        say("first wait", "%s", code(dat_cno_wait(cno, 1000000, &triggered)));
        say("second wait", "%s", code(dat_cno_wait(cno, 1000, &triggered)));
        dat_evd_free(told);
        say("free", "%s", code(dat_cno_free(cno)));
    }
}

/* A group of its own, since the incumbent hangs in each case. */
static void resizing(void)
{
    DAT_EVD_HANDLE evd;
    DAT_EVENT soft;
    DAT_COUNT lengths[] = {1, 8, 100, 0, -1, 0x7fffffff};

    memset(&soft, 0, sizeof soft);
    soft.event_number = DAT_SOFTWARE_EVENT;
    open_adapter();
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (begins("resize to %d", (int)lengths[i])) {
            MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
            said(dat_evd_resize(evd, lengths[i]));
            say_dispatcher(evd);
            dat_evd_free(evd);
        }
    if (begins("resize below what is queued")) {
        MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
        for (int i = 0; i < 4; i++)
            MUST(dat_evd_post_se(evd, &soft));
        said(dat_evd_resize(evd, 2));
        dat_evd_free(evd);
    }
}
