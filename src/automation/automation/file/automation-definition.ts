import type { Filter } from '#libs/value-filter/index.js';
import type { Language } from '../../../workspaces/sandboxes/index.js';

/** The kinds of trigger, as they are written in a file. */
export const TRIGGER_KINDS = ['schedule', 'webhook', 'file', 'notification'] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

export const MISSED = ['skip', 'once', 'all'] as const;
export const FILE_EVENTS = ['created', 'modified', 'deleted', 'moved'] as const;
export const VERIFICATIONS = ['token', 'standard', 'github', 'gitlab', 'stripe', 'slack', 'hmac'] as const;
/** `meta`: GET with hub.challenge; `graph`: POST with validationToken. */
export const CHALLENGES = ['meta', 'graph'] as const;
export type Challenge = (typeof CHALLENGES)[number];
export type Verification = (typeof VERIFICATIONS)[number];
export const CONCURRENCY = ['skip', 'queue', 'replace', 'parallel'] as const;
export const ON_APPROVAL = ['fail', 'wait', 'refuse'] as const;
export const NOTIFY = ['failed', 'paused', 'completed'] as const;

export interface ScheduleTrigger {
  readonly kind: 'schedule';
  /** Five fields, or a nickname such as @daily; null where it fires once. */
  readonly cron: string | null;
  /** A local time, `2026-12-01T09:00`; null where it fires again and again. */
  readonly at: string | null;
  readonly timezone: string;
  /** What becomes of slots that passed while no process ran. */
  readonly missed: (typeof MISSED)[number];
  readonly catchUpSeconds: number;
  readonly jitterSeconds: number;
}

export interface WebhookTrigger {
  readonly kind: 'webhook';
  readonly verify: Verification;
  readonly filter: Filter;
  /** With `hmac`: how the signature is sent. */
  readonly hmac: HmacRule | null;
  /** How its sender asks whether the address is right, before it sends anything; null: not at all. */
  readonly challenge: Challenge | null;
}

export interface HmacRule {
  readonly header: string;
  readonly algorithm: 'sha256' | 'sha512' | 'sha1';
  readonly encoding: 'hex' | 'base64';
  readonly prefix: string;
  /** The header by which a delivery is known again. */
  readonly idHeader: string | null;
}

export interface FileTrigger {
  readonly kind: 'file';
  readonly glob: string;
  readonly events: readonly (typeof FILE_EVENTS)[number][];
  readonly settleSeconds: number;
}

export interface NotificationTrigger {
  readonly kind: 'notification';
  readonly categories: readonly string[];
  readonly filter: Filter;
}

export type TriggerDefinition = ScheduleTrigger | WebhookTrigger | FileTrigger | NotificationTrigger;

export type Work =
  | { readonly kind: 'agent'; readonly prompt: string }
  | {
      readonly kind: 'script';
      readonly language: Language;
      /** A file of the workspace; null where `code` is the program. */
      readonly file: string | null;
      readonly code: string | null;
    };

/** An automation, as its file defines it. */
export interface AutomationDefinition {
  readonly name: string;
  readonly description: string;
  readonly triggers: readonly TriggerDefinition[];
  readonly work: Work;
  /** A subagent of the workspace; null: the default assistant. */
  readonly agent: string | null;
  readonly model: string | null;
  /** Names and globs of tools. */
  readonly tools: readonly string[];
  /** Names and globs of actions. */
  readonly actions: readonly string[];
  /** Connections that it may use, by the ids of their providers or their names. */
  readonly connections: readonly string[];
  /** Secrets of the workspace that its script gets as environment variables. */
  readonly secrets: readonly string[];
  readonly chat: 'new' | 'continue';
  readonly concurrency: {
    /** null: as the kind of trigger has it. */
    readonly policy: (typeof CONCURRENCY)[number] | null;
    readonly max: number;
    /** Automations of one workspace with the same group count together. */
    readonly group: string | null;
  };
  readonly onApproval: (typeof ON_APPROVAL)[number];
  readonly approvalDeadlineSeconds: number;
  readonly limits: {
    readonly costUsd: number | null;
    readonly maxSteps: number | null;
    readonly maxSeconds: number;
    readonly runsPerDay: number | null;
    readonly dailyUsd: number | null;
  };
  readonly expect: { readonly files: readonly string[]; readonly responseSchema: unknown };
  /** How a run that failed is tried again; null: it is not. */
  readonly retries: {
    /** Tries after the first one. */
    readonly max: number;
    /** Before the second try; doubled for each further one, up to {@link AUTOMATION_LIMITS.backoffSeconds}. */
    readonly backoffSeconds: number;
  } | null;
  /** Errors in a row after which it pauses; null: never. */
  readonly pauseAfter: number | null;
  readonly alertAfterSeconds: number | null;
  readonly notify: readonly (typeof NOTIFY)[number][];
  /** JSON Schema of what an on-demand run is given; undefined: anything. */
  readonly input: unknown;
}

export const AUTOMATION_LIMITS = {
  fileBytes: 256 * 1024,
  closureBytes: 1024 * 1024,
  triggers: 10,
  tools: 100,
  actions: 100,
  connections: 20,
  secrets: 20,
  retries: 10,
  backoffSeconds: 86_400,
} as const;

const IN_FOLDER = /^automations\/(?:.*\/)?[^/]+\.md$/;

/** Whether a file is an automation: by its folder, or by the end of its name. */
export const isAutomationPath = (path: string): boolean =>
  IN_FOLDER.test(path) || path.endsWith('.automation.md');
