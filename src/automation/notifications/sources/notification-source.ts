import type { Chain } from '../../../platform/access/index.js';
import type { EventKind } from '../../../platform/events/index.js';
import type { Audience, Notice } from '../types/notice.js';
import type { SourcesStore } from './sources.store.js';

/** An event after which nothing is left to do: notifications about what `about` names count as read. */
export interface Settlement {
  readonly on: EventKind<object>;
  about(facts: object): string;
}

/** Makes notifications of one type out of one kind of event. */
export interface NotificationSource {
  readonly on: EventKind<object>;
  /** Asked in the transaction of the event. */
  isMeant(facts: object): boolean;
  /** Puts what happened into words, as it is now. Undefined: nobody is to be notified. */
  compose(facts: object, records: SourcesStore): Promise<Notice | undefined>;
  readonly settledBy: readonly Settlement[];
}

/** What a notification is about, and where it happened. */
interface Subject {
  readonly organization_id: string | null;
  readonly workspace_id?: string | null;
}

/** One line of the table: an event, who is notified of it, and the words. */
interface Entry<Facts extends object, Row extends Subject> {
  readonly on: EventKind<Facts>;
  /** Which of these events are meant. Absent: all. */
  readonly when?: (facts: Facts) => boolean;
  /** Undefined: it is gone, and nobody is notified. */
  readonly load: (facts: Facts, records: SourcesStore) => Promise<Row | undefined>;
  /** False: nobody is notified any more. */
  readonly stillTrue?: (row: Row) => boolean;
  readonly recipients: (row: Row, facts: Facts) => Audience;
  /** The id of what has happened: nobody is notified of one twice. */
  readonly about: (row: Row, facts: Facts) => string;
  readonly title: (row: Row, facts: Facts) => string;
  readonly body: (row: Row, facts: Facts) => string;
  /** The page on which something can be done about it. A link that itself gives access does not belong here. */
  readonly link?: (row: Row) => string;
  readonly data: (row: Row, facts: Facts) => Readonly<Record<string, string>>;
  readonly expires_at?: (row: Row) => string;
  /** What led to it. A source that leaves it out lets automations start themselves by its notifications. */
  readonly chain?: (row: Row) => Chain | null | undefined;
  readonly settledBy?: readonly Settlement[];
}

export function source<Facts extends object, Row extends Subject>(
  entry: Entry<Facts, Row>,
): NotificationSource {
  return {
    on: entry.on,
    settledBy: entry.settledBy ?? [],
    isMeant: (facts: Facts) => entry.when?.(facts) ?? true,
    compose: async (facts: Facts, records) => {
      const row = await entry.load(facts, records);
      if (!row || entry.stillTrue?.(row) === false) return undefined;
      return {
        audience: entry.recipients(row, facts),
        organization_id: row.organization_id,
        workspace_id: row.workspace_id ?? null,
        about: entry.about(row, facts),
        title: entry.title(row, facts),
        body: entry.body(row, facts),
        link: entry.link?.(row),
        data: entry.data(row, facts),
        expires_at: entry.expires_at?.(row),
        chain: entry.chain?.(row) ?? undefined,
      };
    },
  };
}

export function settlement<Facts extends object>(
  on: EventKind<Facts>,
  about: (facts: Facts) => string,
): Settlement {
  return { on, about };
}
