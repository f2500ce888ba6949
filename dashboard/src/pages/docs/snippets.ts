// The receivers' check as it stands, and is tested, in docs/partners/verify.
import aspnet from '../../../../docs/partners/verify/AspNetCallback.cs';
import spring from '../../../../docs/partners/verify/SpringCallback.java';
import csharp from '../../../../docs/partners/verify/Verify.cs';
import java from '../../../../docs/partners/verify/Verify.java';
import node from '../../../../docs/partners/verify/node.mjs';
import go from '../../../../docs/partners/verify/verify.go';
import php from '../../../../docs/partners/verify/verify.php';
import python from '../../../../docs/partners/verify/verify.py';

export const snippets = [
  { file: 'node.mjs', name: 'Node.js', text: node },
  { file: 'verify.py', name: 'Python', text: python },
  { file: 'verify.php', name: 'PHP', text: php },
  { file: 'verify.go', name: 'Go', text: go },
  { file: 'Verify.java', name: 'Java', text: java },
  { file: 'SpringCallback.java', name: 'Spring', text: spring },
  { file: 'Verify.cs', name: 'C#', text: csharp },
  { file: 'AspNetCallback.cs', name: 'ASP.NET', text: aspnet },
] as const;

/** They read the secret from the environment: it is filled in where that is said. */
export function withSecret(text: string, secret: string | null): string {
  return secret ? text.replace('CALLBACK_SECRET=...', `CALLBACK_SECRET='${secret}'`) : text;
}
