// The shapes of the interface (/openapi.json), as far as pages use them.
import type { Decimal } from './decimal';

export interface List<T> {
  Items: T[];
  Next: string | null;
}

export type Scope =
  | 'reports:read'
  | 'callbacks:read'
  | 'callbacks:write'
  | 'panelists:erase'
  | 'apps:read'
  | 'apps:write'
  | 'keys:write'
  | 'people:write'
  | 'audit:read'
  | 'events:write'
  | 'admin';

export type Role = 'owner' | 'developer' | 'analyst' | 'admin' | 'support';

export interface PartnerName {
  PartnerId: string;
  Name: string;
}

export type OperationsFormat = 'standard' | 'slack' | 'teams' | 'discord';

export interface Partner extends PartnerName {
  Enabled: boolean;
  OperationsUrl: string | null;
  OperationsFormat?: OperationsFormat; // absent: standard
  OperationsEmail?: string; // absent: none
}

export interface User {
  UserId: string;
  Email: string;
  Name: string;
  Role: Role;
  PartnerId: string | null;
  Enabled: boolean;
  SecondFactor: boolean;
  Passkeys: number;
  Issuer: string | null; // of the identity provider that the user is linked to
  Invited: boolean;
  CreatedAt: string;
  LastSignInAt: string | null;
}

export interface SignedIn {
  SignedIn: true;
  SetUpNeeded: false;
  SessionId: string;
  User: User;
  CsrfToken: string;
  Side: 'partner' | 'operator';
  Partner: PartnerName | null;
  ActingAs: boolean;
  Scopes: Scope[];
  SignedInAt: string;
  ExpiresAt: string;
  IdleExpiresAt: string;
  ServerTime: string;
  Version: string;
}

export type Session = SignedIn | { SignedIn: false; SetUpNeeded: boolean };

export interface SessionEntry {
  SessionId: string;
  Current: boolean;
  SignedInAt: string;
  LastUsedAt: string;
  ExpiresAt: string;
  Address: string;
  /** Null: the program that signed in sent none. */
  UserAgent: string | null;
}

/** What a 2xx must say to be a success: one of Body and Contains, or Field with Value. */
export interface SuccessAnswer {
  Body?: string;
  Contains?: string;
  Field?: string;
  Value?: string;
}

export interface App {
  AppId: string;
  Name: string;
  Enabled: boolean;
  CurrencyValue: Decimal;
  RewardDecimals: number;
  DisqualificationReward: Decimal;
  DisqualificationCap: number;
  SuccessCallbackUrl: string | null;
  FailureCallbackUrl: string | null;
  OfferCallbackUrl: string | null;
  TestCallbackUrl: string | null;
  TimeoutSeconds: number;
  MaxConcurrency: number;
  RatePerSecond: number | null;
  LegacyFields: boolean;
  ExtendedFields: boolean;
  NegativeAdHoc: boolean;
  FinalStatuses: number[];
  /** null: all. */
  RewardTypes: RewardType[] | null;
  SuccessAnswer: SuccessAnswer | null;
  RequestFormat: 'json' | 'form' | 'get';
  TrimDecimals: boolean;
  NumericOfferGoalId: boolean;
  WithholdTests: boolean;
  ClientCertificate?: { Subject: string; Sha256: string; NotAfter: string } | null;
}

export type Integration = 'sdk' | 'iframe' | 'monetization_api';

export interface Client {
  /** Whose it is, where several apps' are read. */
  AppId?: string;
  ClientId: string;
  Name: string;
  Integration: Integration;
  Enabled: boolean;
}

export interface Key {
  KeyId: string;
  Name: string;
  Scopes: Scope[];
  ExpiresAt?: string;
  LastUsedAt?: string;
  CreatedBy?: string;
  CreatorGone?: boolean;
  Key?: string;
}

export const rewardTypes = [
  'survey_completed',
  'survey_disqualified',
  'profiler_completed',
  'ad_hoc',
  'offer_completed',
  'offer_clicked',
  'offer_completion_reversed',
] as const;
export type RewardType = (typeof rewardTypes)[number];

export const callbackStates = ['pending', 'delivering', 'delivered', 'dead', 'skipped'] as const;
export type CallbackState = (typeof callbackStates)[number];

export interface Attempt {
  Number: number;
  Manual: boolean;
  At: string | null;
  DurationMs: number;
  Method: 'POST' | 'GET';
  Url: string | null;
  Status: number | null;
  Class: string | null;
  Detail: string | null;
  RequestHeaders: Record<string, string> | null;
  /** A form; null: the callback's Body was sent, or of a GET nothing. */
  RequestBody: string | null;
  ResponseHeaders: Record<string, string> | null;
  ResponseBody: string | null;
}

export type LastAttempt = Pick<
  Attempt,
  'Number' | 'At' | 'DurationMs' | 'Status' | 'Class' | 'Detail'
>;

export interface Callback {
  /** In the log over all partners. */
  PartnerId?: string;
  RewardId: string;
  AppId: string;
  ClientId: string;
  PanelistId: string;
  RewardType: RewardType;
  State: CallbackState;
  Reason: string | null;
  Reward: Decimal;
  RevenueAmount: Decimal;
  IsTest: boolean;
  Timestamp: string;
  CreatedAt: string;
  Endpoint: Endpoint['Endpoint'];
  OriginalRewardId?: string;
  Url: string | null;
  /** Absent in lists that were asked for without. */
  Body: string | null;
  NextAttemptAt: string | null;
  AttemptCount: number;
  /** In lists; null: there was none, it is no longer stored, or the callback is delivered. */
  LastAttempt?: LastAttempt | null;
  ReasonGiven?: string;
  Attempts?: Attempt[];
}

export interface AllCallbacks extends List<Callback> {
  /** Leads to the partners that this answer did not read. */
  NextPartners: string | null;
  PartnersRead: number;
  /** Their database cannot be reached. */
  PartnersAway: number;
}

export interface Recovery {
  RecoveryId: string;
  State: 'running' | 'done';
  AppId: string | null;
  From: string;
  To: string;
  States: CallbackState[];
  RatePerSecond: number;
  Matched: number;
  Resent: number;
  Purged: number;
  Erased: number;
  CreatedAt: string;
}

export type EndpointHealth =
  | 'disabled'
  | 'suspended'
  | 'host_down'
  | 'paused'
  | 'failing'
  | 'app_disabled'
  | 'unknown'
  | 'open'
  | 'not_configured';

export interface Endpoint {
  Endpoint: 'success' | 'failure' | 'offer' | 'test';
  Url: string | null;
  State:
    'open' | 'paused' | 'suspended' | 'host_down' | 'disabled' | 'app_disabled' | 'not_configured';
  Health: EndpointHealth;
  Since: string | null;
  Waiting: number;
  OldestWaitingAt: string | null;
  DrainSeconds: number | null;
  InFlight: number;
  WaitingInMemory: number;
  Window: number;
  NextTryAt: string | null;
  Succeeded1h: number;
  Failed1h: number;
  Succeeded24h: number;
  Failed24h: number;
  LatencyP50Ms: number;
  LatencyP95Ms: number;
  LatencyP99Ms: number;
  LastError: {
    At: string;
    Class: string;
    Status: number | null;
    Detail: string;
    Fix: string;
  } | null;
}

export interface Endpoints {
  AppId: string;
  Endpoints: Endpoint[];
}

export interface DeliveryCounts {
  Succeeded: number;
  Failed: number;
  Failures: Record<string, number>;
  LatencyP50Ms: number | null;
  LatencyP95Ms: number | null;
}

export interface DeliveryStatistics {
  Period: '1h' | '24h' | '7d' | '30d';
  From: string;
  To: string;
  StepSeconds: number;
  Points: (DeliveryCounts & { From: string })[];
  Total: DeliveryCounts;
}

export interface UnhealthyEndpoint {
  PartnerId: string;
  AppId: string;
  AppName: string;
  Endpoint: Endpoint;
}

interface Unhealthy {
  Worst: EndpointHealth;
  NotHealthy: number;
}

/** The health of all endpoints of an account; the operator's, without partnerId, of all accounts. */
export interface AccountEndpoints {
  States: Record<EndpointHealth, number>;
  Partners: (Unhealthy & { PartnerId: string })[];
  Apps: (Unhealthy & { AppId: string })[];
  NotHealthy: UnhealthyEndpoint[];
  More: boolean;
}

export interface ReportRow {
  Day: string;
  ClientId: string;
  Earnings?: Decimal;
  ActivePanelists?: number;
  Arpdau?: Decimal | null;
  SurveyAttempts?: number;
  Conversions?: number;
}

/** What happened within a quarter of an hour. */
export interface IntradayRow {
  From: string;
  Earnings: Decimal;
  Conversions: number;
  SurveyAttempts: number;
  ActivePanelists: number;
}

export interface Intraday {
  Day: string;
  Complete: boolean;
  Rows: IntradayRow[];
}

export interface Report {
  Report: string;
  StartDate: string;
  EndDate: string;
  GeneratedAt: string;
  Rows: ReportRow[];
  /** Only where there is any. */
  Warnings?: { ClientId: string; Code: string; Detail: string }[];
}

/** What a partner came to in a range of days. */
export interface PartnerEarnings {
  PartnerId: string;
  Name: string;
  Earnings: Decimal;
  /** Days added up. */
  ActivePanelists: number;
  Arpdau: Decimal | null;
  SurveyAttempts: number;
  Conversions: number;
}

interface StatementSums {
  Count: number;
  Reward: Decimal;
  RevenueAmount: Decimal;
}

export interface StatementItem extends StatementSums {
  AppId: string;
  Final: boolean;
  Digest: string;
  Groups: (StatementSums & { RewardType: RewardType; State: CallbackState })[];
}

export interface Statement {
  Day: string;
  Items: StatementItem[];
}

export interface AuditEntry {
  AuditId: string;
  At: string;
  Action: string;
  PartnerId: string | null;
  Actor: {
    Kind: 'user' | 'key' | 'unknown' | 'operator' | 'postbackd';
    Id: string | null;
    Name: string | null;
    ActingAs: boolean;
  };
  Address: string | null;
  RequestId: string | null;
  Object: { Kind: string; Id: string } | null;
  Before: Record<string, unknown> | null;
  After: Record<string, unknown> | null;
}

export interface Rejected {
  Index: number;
  EventId: string | null;
  Errors: { Field: string; Code: string; Detail: string }[];
}

export interface EventsAnswer {
  Accepted: number;
  Duplicates: number;
  Rejected: Rejected[];
}

export interface Limit {
  Bound: string;
  Unit: 'bytes' | 'events' | 'callbacks' | null;
  Used: number | null;
  Most: number | null;
  Refused: number;
}

export interface Cluster {
  Number: number;
  Server: string | null;
  Database: string | null;
  Bytes: number | null;
  Partners: number;
  Events: number | null;
  RecentEvents: number | null;
  Pending: number | null;
  State: 'in_use' | 'away' | 'moving' | 'moved';
  ShouldMove: boolean;
  Move: ClusterMove | null;
}

export interface ClusterMove {
  Step: 'beginning' | 'copying' | 'following' | 'switched' | 'unseen';
  Server: string | null;
  TablesCopied: number | null;
  Tables: number | null;
  Bytes: number | null;
  BehindBytes: number;
  Errors: number;
  Running: boolean;
}

export interface System {
  At: string;
  StartedAt: string;
  Version: string;
  Accepting: boolean;
  Refusal: { Bound: string; Detail: string } | null;
  Events: { Accepted: number; Queued: number; Unapplied: number };
  Callbacks: {
    Delivered: number;
    Dead: number;
    Pending: number;
    OldestPendingAt: string | null;
    InFlight: number;
    InMemory: number;
    DeliveredLastMinute: number;
    DrainSeconds: number | null;
  };
  Limits: Limit[];
  Disk: { FreeBytes: number; ReserveBytes: number; JournalBytes: number };
  Memory: {
    AllocatedBytes: number;
    FreeBytes: number;
    PageCacheBytes: number;
    MemtableBytes: number;
    KeyFilterBytes: number;
  };
  EndpointStates: Record<string, number>;
  WorstEndpoints: { PartnerId: string; AppId: string; Endpoint: Endpoint }[];
  Books: {
    WrongDays: number;
    DaysChecked: number;
    CallbacksChecked: number;
    RoundEndedAt: string | null;
    Example: string | null;
  };
  Certificates: { Certificate: string; ExpiresAt: string; Soon: boolean }[];
  Messages: { Sent: number; Failed: number; GivenUp: number; Owed: number };
  LinkMails: { Sent: number; Failed: number; GivenUp: number; Owed: number };
  Nodes: { Name: string; Alive: number; ShardsHeld: number; Shards: number } | null;
  ReadReplica: {
    State: 'used' | 'behind' | 'away';
    LagMs: number;
    Reads: number;
    ReadsPassedOn: number;
  } | null;
  Clusters: { Total: number; Away: number } | null;
  ClusterList: Cluster[];
}
