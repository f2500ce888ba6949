// An app as its tabs have it, and how they change it.
import { serverNow } from '../../app/session';
import { path, request } from '../../lib/http';
import type { App } from '../../lib/types';

/** The app as it was read, with the tag that a change of it must name. */
export interface Loaded {
  app: App;
  etag: string | null;
}

export interface TabProps extends Loaded {
  /** Takes the app as a change of it has left it. */
  take: (changed: Loaded) => void;
}

/** When each app was last saved here: what failed before may be mended. */
export const savedAt: Record<string, string> = {};

/** Changes the app, unless somebody else did since it was read. */
export async function changeApp({ app, etag, take }: TabProps, body: unknown): Promise<void> {
  const to = path`/api/v1/apps/${app.AppId}`;
  const answer = await request<App>('PATCH', to, { body, ifMatch: etag });
  savedAt[app.AppId] = serverNow().toISOString();
  take({ app: answer.data, etag: answer.etag });
}
