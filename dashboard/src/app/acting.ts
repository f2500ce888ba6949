// An operator who looks at an account as its partner does, without being able to change anything.
import { post, request } from '../lib/http';
import type { Session } from '../lib/types';
import { navigate } from './router';
import { me, takeSession } from './session';

export async function actAs(partnerId: string, page = '/'): Promise<void> {
  takeSession(await post<Session>('/api/v1/session/act-as', { PartnerId: partnerId }));
  navigate(page);
}

/** Back to the account that was looked at, as the operator. */
export async function stopActing(): Promise<void> {
  const was = me.value?.Partner?.PartnerId ?? '';
  const { data } = await request<Session>('DELETE', '/api/v1/session/act-as');
  takeSession(data);
  navigate(`/partners/${encodeURIComponent(was)}`);
}
