// What the roles are for, in words; what they may do is the server's table (docs/people.md).
import type { Role } from '../../lib/types';

const texts: Record<Role, string> = {
  owner: 'Everything, people too.',
  developer: 'URLs, secrets, keys, resends and tests; no people.',
  analyst: 'Looks at reports and callbacks; changes nothing and sees no secret.',
  admin: 'Runs the installation: everything, on every account.',
  support: 'Looks into every account and resends callbacks; changes no setting.',
};

export function rolesOf(side: 'partner' | 'operator'): { value: Role; title: string }[] {
  const names: Role[] =
    side === 'partner' ? ['owner', 'developer', 'analyst'] : ['admin', 'support'];
  return names.map(value => ({ value, title: value }));
}

export const roleText = (role: Role): string => texts[role];
