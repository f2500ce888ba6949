// What the roles are for, in words; what they may do is the server's table (docs/people.md).
import type { Role } from '../../lib/types';

const texts: Record<Role, string> = {
  owner: 'Everything, including people.',
  developer: 'URLs, secrets, keys, resends and tests, but not people.',
  analyst: 'Reads reports and callbacks. Cannot change anything or see secrets.',
  admin: 'Runs the installation: everything, on every account.',
  support: 'Reads every account and resends callbacks. Cannot change settings.',
};

export function rolesOf(side: 'partner' | 'operator'): { value: Role; title: string }[] {
  const names: Role[] =
    side === 'partner' ? ['owner', 'developer', 'analyst'] : ['admin', 'support'];
  return names.map(value => ({ value, title: value }));
}

export const roleText = (role: Role): string => texts[role];
