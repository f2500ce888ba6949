// The receivers' check as it stands, and is tested, in docs/partners/verify.
import csharp from '../../../../docs/partners/verify/Verify.cs';
import java from '../../../../docs/partners/verify/Verify.java';
import node from '../../../../docs/partners/verify/node.mjs';
import go from '../../../../docs/partners/verify/verify.go';
import php from '../../../../docs/partners/verify/verify.php';
import python from '../../../../docs/partners/verify/verify.py';

export const snippets = [
  { name: 'Node.js', text: node },
  { name: 'Python', text: python },
  { name: 'PHP', text: php },
  { name: 'Go', text: go },
  { name: 'Java', text: java },
  { name: 'C#', text: csharp },
] as const;

export type Language = (typeof snippets)[number]['name'];

/** They read the secret from the environment: it is filled in where that is said. */
export function withSecret(text: string, secret: string | null): string {
  return secret ? text.replace('CALLBACK_SECRET=...', `CALLBACK_SECRET='${secret}'`) : text;
}
