/* Makes a stranger's text safe within one line of a mail or chat. */
#pragma once

#include "base/buf.h"

/* Prints UTF-8 as part of one line. Each character that could end the line or change the order in
 * which it is read becomes a space: control characters (C0, DEL, C1), U+2028 and U+2029, and those
 * that set a direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: Unicode's
 * Bidi_Control). So a name cannot pretend to be further lines. A byte that is not UTF-8 becomes a
 * space, too. */
void plain_text_print(struct buf *to, struct str text);
