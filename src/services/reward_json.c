/* A reward's JSON, for the API and the Kafka topic of the feed. */
#include "services/reward_json.h"

#include "base/check.h"
#include "domain/payload.h"

void reward_print_members(struct json_writer *w, struct directory *directory,
                          const struct callback_row *row, const struct app *app, bool with_partner)
{
    const struct event *e = &row->event;
    struct client *client = directory_client_by_no(directory, e->client_no);
    ASSERT(client); /* clients are never deleted */
    json_key_string(w, "RewardId", e->event_id);
    if (with_partner)
        json_key_string(w, "PartnerId", app->partner_id);
    json_key_string(w, "AppId", app->id);
    json_key_string(w, "ClientId", client->id);
    client_unref(client);
    json_key_string(w, "PanelistId", e->panelist_id);
    json_key_c(w, "RewardType", event_type_name(e->type));
    json_key_c(w, "State", callback_state_name(row->state));
    json_key_c(w, "Reason", callback_reason_name(row->reason));
    json_key_money(w, "Reward", e->reward_micros, payload_reward_digits(e));
    json_key_money(w, "RevenueAmount", e->revenue_micros, 2);
    json_key_bool(w, "IsTest", e->is_test);
    json_key_time(w, "Timestamp", e->occurred_ms);
    json_key_time(w, "CreatedAt", e->accepted_ms);
    json_key_string_if(w, "OriginalRewardId", e->original_reward_id);
}
