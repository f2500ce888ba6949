// The health of endpoints in words. What is healthy is decided by the server: the field Health.
import { path } from '../lib/http';
import type { Endpoint, EndpointHealth, UnhealthyEndpoint } from '../lib/types';
import { Badge, type Tone } from './basics';
import { Chosen } from './chosen';

export const healthWords: Record<EndpointHealth, { tone: Tone; title: string }> = {
  disabled: { tone: 'bad', title: 'Disabled (410)' },
  suspended: { tone: 'bad', title: 'Down' },
  host_down: { tone: 'bad', title: 'Host is down' },
  paused: { tone: 'warn', title: 'Paused (Retry-After)' },
  failing: { tone: 'warn', title: 'Failing' },
  app_disabled: { tone: 'warn', title: 'App is off' },
  unknown: { tone: 'plain', title: 'Unknown' },
  open: { tone: 'good', title: 'Healthy' },
  not_configured: { tone: 'plain', title: 'No URL' },
};

export const endpointNames: Record<Endpoint['Endpoint'], string> = {
  success: 'Success',
  failure: 'Failure',
  offer: 'Offers',
  test: 'Tests',
};

export function HealthBadge({ health }: { health: EndpointHealth }) {
  const { tone, title } = healthWords[health];
  return <Badge tone={tone}>{title}</Badge>;
}

const tabs: Record<Endpoint['Endpoint'], string> = {
  success: 'postback',
  failure: 'postback',
  offer: 'callback',
  test: '', // the first one
};

/** The page of an app on which the URL stands; the operator names the partner. */
export const tabOf = (endpoint: Endpoint['Endpoint']) => tabs[endpoint];

/** To the page where its URL stands, for its own partner. */
export function EndpointLink({ of }: { of: UnhealthyEndpoint }) {
  return (
    <a href={path`/apps/${of.AppId}/${tabOf(of.Endpoint.Endpoint)}`}>
      <span>
        <Chosen text={of.AppName || of.AppId} /> · {endpointNames[of.Endpoint.Endpoint]}
      </span>
    </a>
  );
}
