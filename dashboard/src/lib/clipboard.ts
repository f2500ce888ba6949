// Copying: browsers give pages the clipboard over HTTPS and on localhost only, so a dashboard on
// an inner network over plain HTTP takes the older way, which wants the text selected in the page.

function copySelected(text: string, near: HTMLElement): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'sr-only';
  near.before(field); // what is outside of an open dialog cannot be selected
  field.select();
  try {
    return document.execCommand('copy');
  } finally {
    field.remove();
    near.focus();
  }
}

/** Whether it was copied. `near` is what was pressed, and has the focus afterwards. */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    if (!navigator.clipboard) return copySelected(text, near);
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // the browser's settings forbid it
  }
}
