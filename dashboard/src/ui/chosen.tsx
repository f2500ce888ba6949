// Texts that somebody chose (names, PanelistIds), beside the page's own: they may be written from
// right to left, and must not turn the words around them. The characters that set a direction are
// shown as spaces, as in mails (src/base/plain_text.h): one of them would end the isolation.

export const withoutTurns = (text: string) =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ');

export function Chosen({ text }: { text: string | null | undefined }) {
  return <bdi>{withoutTurns(text ?? '')}</bdi>;
}

/** The same inside of a string, where there are no elements: titles and options. */
export const isolated = (text: string) => `\u2068${withoutTurns(text)}\u2069`;
