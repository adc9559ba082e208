/*
 * Printing of events.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define WORD(name) {name, #name}
static const struct word event_numbers[] = {
    WORD(DAT_DTO_COMPLETION_EVENT), WORD(DAT_RMR_BIND_COMPLETION_EVENT),
    WORD(DAT_CONNECTION_REQUEST_EVENT), WORD(DAT_CONNECTION_EVENT_ESTABLISHED),
    WORD(DAT_CONNECTION_EVENT_PEER_REJECTED), WORD(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
    WORD(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR), WORD(DAT_CONNECTION_EVENT_DISCONNECTED),
    WORD(DAT_CONNECTION_EVENT_BROKEN), WORD(DAT_CONNECTION_EVENT_TIMED_OUT),
    WORD(DAT_CONNECTION_EVENT_UNREACHABLE), WORD(DAT_ASYNC_ERROR_EVD_OVERFLOW),
    WORD(DAT_ASYNC_ERROR_IA_CATASTROPHIC), WORD(DAT_ASYNC_ERROR_EP_BROKEN),
    WORD(DAT_ASYNC_ERROR_TIMED_OUT), WORD(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
    WORD(DAT_SOFTWARE_EVENT), {0, NULL}};
static const struct word statuses[] = {
    WORD(DAT_DTO_SUCCESS), WORD(DAT_DTO_ERR_FLUSHED), WORD(DAT_DTO_ERR_LOCAL_LENGTH),
    WORD(DAT_DTO_ERR_LOCAL_EP), WORD(DAT_DTO_ERR_LOCAL_PROTECTION), WORD(DAT_DTO_ERR_BAD_RESPONSE),
    WORD(DAT_DTO_ERR_REMOTE_ACCESS), WORD(DAT_DTO_ERR_REMOTE_RESPONDER), WORD(DAT_DTO_ERR_TRANSPORT),
    WORD(DAT_DTO_ERR_RECEIVER_NOT_READY), WORD(DAT_DTO_ERR_PARTIAL_PACKET),
    WORD(DAT_RMR_OPERATION_FAILED), {0, NULL}};

/* The endpoints of the current connection. */
static DAT_EP_HANDLE active, passive;
static DAT_CR_HANDLE request;

static const char *which(DAT_EP_HANDLE ep)
{
    return ep == active ? "active" : ep == passive ? "passive" : ep == DAT_HANDLE_NULL ? "none" : "other";
}

/* Returns whether the event ends a connection of an earlier case, which may arrive at any time. */
static int is_late(const DAT_EVENT *event)
{
    switch (event->event_number) {
    case DAT_CONNECTION_EVENT_PEER_REJECTED:
    case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
    case DAT_CONNECTION_EVENT_UNREACHABLE:
    case DAT_CONNECTION_EVENT_TIMED_OUT:
    case DAT_CONNECTION_EVENT_BROKEN:
    case DAT_CONNECTION_EVENT_DISCONNECTED:
        return strcmp(which(event->event_data.connect_event_data.ep_handle), "other") == 0;
    default:
        return 0;
    }
}

static void say_event(const char *part, const DAT_EVENT *event)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
    const DAT_CONNECTION_EVENT_DATA *connection = &event->event_data.connect_event_data;
    const char *name = word(event_numbers, event->event_number);

    switch (event->event_number) {
    case DAT_DTO_COMPLETION_EVENT:
        /* The length is valid only for a success. */
        say(part, "%s, %s, cookie %u, %s, %u bytes", name, which(dto->ep_handle),
            (unsigned)dto->user_cookie.as_64, word(statuses, dto->status),
            dto->status == DAT_DTO_SUCCESS ? (unsigned)dto->transfered_length : 0);
        break;
    case DAT_RMR_BIND_COMPLETION_EVENT:
        say(part, "%s, cookie %u, %s", name,
            (unsigned)event->event_data.rmr_completion_event_data.user_cookie.as_64,
            word(statuses, event->event_data.rmr_completion_event_data.status));
        break;
    case DAT_CONNECTION_REQUEST_EVENT:
        request = event->event_data.cr_arrival_event_data.cr_handle;
        say(part, "%s", name);
        break;
    case DAT_SOFTWARE_EVENT:
        say(part, "%s, %s", name, event->event_data.software_event_data.pointer == NULL ? "NULL" : "pointer");
        break;
    default:
        if (event->event_number < DAT_ASYNC_ERROR_EVD_OVERFLOW)
            say(part, "%s, %s, private data: %d bytes", name, which(connection->ep_handle),
                (int)connection->private_data_size);
        else
            say(part, "%s", name);
    }
}

/* Takes and prints the expected number of events; fewer if none arrives for a second. */
static int take(DAT_EVD_HANDLE evd, const char *from, int expected)
{
    DAT_EVENT event;
    DAT_COUNT more;
    DAT_RETURN value;
    char part[64];
    int number;

    for (number = 1; number <= expected; number++) {
        snprintf(part, sizeof part, "%s event %d", from, number);
        do
            value = dat_evd_wait(evd, 3000000, 1, &event, &more);
        while (value == DAT_SUCCESS && is_late(&event));
        if (value != DAT_SUCCESS) {
            say(part, "%s", code(value));
            return 0;
        }
        say_event(part, &event);
    }
    return 1;
}

/* Prints that the dispatcher is empty. */
static void take_none(DAT_EVD_HANDLE evd, const char *from)
{
    DAT_EVENT event;
    DAT_COUNT more;
    char part[64];
    DAT_RETURN value = dat_evd_wait(evd, 300000, 1, &event, &more);

    snprintf(part, sizeof part, "%s afterwards", from);
    if (value == DAT_SUCCESS)
        say_event(part, &event);
    else
        say(part, "%s", code(value));
}
