/* Prints a message for a chat's incoming webhook: the mail's text, as JSON. It contains names that
 * a partner has chosen, so nothing in it may be read as markup or mention people. */
#include "operations/notice.h"

#include "json/writer.h"

#define DISCORD_BYTES_MOST 2000 /* it counts characters, which are never more than bytes */
#define LINK_BYTES_MOST 1000

/* Slack finds links and mentions by these three characters. Its limit is 40,000 characters; a URL
 * of 2,048 is the longest part. */
static void add_slack(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '&')
            buf_add_c(to, "&amp;");
        else if (text.p[i] == '<')
            buf_add_c(to, "&lt;");
        else if (text.p[i] == '>')
            buf_add_c(to, "&gt;");
        else
            buf_add_char(to, text.p[i]);
    }
}

static void print_slack(struct json_writer *w, struct str text, struct str link)
{
    struct buf escaped = {0};
    add_slack(&escaped, text);
    if (link.p) {
        buf_add_c(&escaped, "Dashboard: ");
        add_slack(&escaped, link);
    }
    json_key_string(w, "text", buf_str(&escaped));
    json_key_bool(w, "mrkdwn", false);
    json_key_bool(w, "unfurl_links", false);
    buf_free(&escaped);
}

/* In a code block only the ` that ends it is markup. */
static void print_discord(struct json_writer *w, struct str text, struct str link)
{
    struct buf content = {0}, end = {0};
    buf_add_c(&end, "\n```");
    if (link.p)
        buf_printf(&end, "\nDashboard: %.*s", STR_ARG(link));
    buf_add_c(&content, "```\n");
    text = str_utf8_prefix(text, DISCORD_BYTES_MOST - content.n - end.n);
    for (size_t i = 0; i < text.n; i++)
        buf_add_char(&content, text.p[i] == '`' ? '\'' : text.p[i]);
    buf_add_str(&content, buf_str(&end));
    json_key_string(w, "content", buf_str(&content));
    json_key_object(w, "allowed_mentions");
    json_key_array(w, "parse");
    json_end_array(w);
    json_end_object(w);
    buf_free(&content);
    buf_free(&end);
}

static void print_teams_line(struct json_writer *w, struct str line, bool is_title)
{
    json_object(w);
    json_key_c(w, "type", "RichTextBlock"); /* a TextBlock would read markup */
    json_key_array(w, "inlines");
    json_object(w);
    json_key_c(w, "type", "TextRun");
    json_key_string(w, "text", line);
    if (is_title)
        json_key_c(w, "weight", "Bolder");
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
}

static void print_teams_card(struct json_writer *w, struct str text, struct str link)
{
    json_key_c(w, "$schema", "http://adaptivecards.io/schemas/adaptive-card.json");
    json_key_c(w, "type", "AdaptiveCard");
    json_key_c(w, "version", "1.2");
    json_key_array(w, "body");
    for (bool is_title = true; text.n; is_title = false) {
        struct str line = str_cut(&text, '\n');
        if (line.n)
            print_teams_line(w, line, is_title);
    }
    json_end_array(w);
    if (!link.p)
        return;
    json_key_array(w, "actions");
    json_object(w);
    json_key_c(w, "type", "Action.OpenUrl");
    json_key_c(w, "title", "Dashboard");
    json_key_string(w, "url", link);
    json_end_object(w);
    json_end_array(w);
}

static void print_teams(struct json_writer *w, struct str text, struct str link)
{
    json_key_c(w, "type", "message");
    json_key_array(w, "attachments");
    json_object(w);
    json_key_c(w, "contentType", "application/vnd.microsoft.card.adaptive");
    json_key_object(w, "content");
    print_teams_card(w, text, link);
    json_end_object(w);
    json_end_object(w);
    json_end_array(w);
}

void chat_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url, enum operations_format format)
{
    struct buf text = {0};
    struct json_writer w;
    struct str link = public_url.n <= LINK_BYTES_MOST ? public_url : STR_NONE;
    mail_text_print(&text, n, partner, app, STR_NONE);
    json_write_to(&w, to);
    json_object(&w);
    if (format == OPERATIONS_SLACK)
        print_slack(&w, buf_str(&text), link);
    else if (format == OPERATIONS_DISCORD)
        print_discord(&w, buf_str(&text), link);
    else
        print_teams(&w, buf_str(&text), link);
    json_end_object(&w);
    buf_free(&text);
}
