import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { FormsStore } from '../records/forms.store.js';
import { type NewSubmission, SubmissionsStore } from '../records/submissions.store.js';
import { WaitingStore } from '../records/waiting.store.js';
import type { OpenForm } from './form-visits.js';
import type { HandedIn } from './handed-in.js';
import { Tickets } from './tickets.js';

/** Faster than people write. */
const MIN_AGE_MS = 3_000;
const MAX_AGE_MS = 24 * 3_600_000;

const WAKE_MS = 50;
const TOO_OLD = 'The page was open for too long. Look your answers over, and send them again.';

type Found =
  | { readonly kind: 'new'; readonly key: string; readonly reason: string | null }
  | { readonly kind: 'refused'; readonly key?: string; readonly problem: string };

/** Whether something that was handed in is kept, and as what. */
@Injectable()
export class Admission {
  private waking: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly submissions: SubmissionsStore,
    private readonly tickets: Tickets,
    private readonly waiting: WaitingStore,
  ) {}

  /** By its ticket, and the field that people do not see. */
  look({ form }: OpenForm, { ticket, values }: HandedIn): Found {
    const read = this.tickets.read(form.id, ticket);
    if (!read || read.age > MAX_AGE_MS) return { kind: 'refused', key: read?.key, problem: TOO_OLD };
    const isFilled = (values.get(read.decoy) ?? []).some(value => value !== '');
    if (isFilled)
      return { kind: 'new', key: read.key, reason: 'A field that people do not see was filled in' };
    if (read.age < MIN_AGE_MS)
      return { kind: 'new', key: read.key, reason: 'It was sent within three seconds' };
    return { kind: 'new', key: read.key, reason: null };
  }

  /** Durable when it returns; `full` where the form has taken as many as it may. */
  async keep(
    { form, definition }: OpenForm,
    { address, ...submission }: Omit<NewSubmission, 'address_hash'> & { address: string },
  ): Promise<'added' | 'known' | 'full'> {
    const row = { ...submission, address_hash: this.tickets.addressHash(form.id, address) };
    const { maxResponses } = definition;
    const added =
      maxResponses === null ? await this.submissions.add(row) : await this.addWithin(row, maxResponses);
    if (added === true && row.state === 'received') this.wakeWriter();
    if (added === 'full') return 'full';
    return added ? 'added' : 'known';
  }

  /** Whether the same was handed in before. */
  async isKnown({ form }: OpenForm, key: string | undefined): Promise<boolean> {
    return key !== undefined && (await this.submissions.has(form.id, key));
  }

  waitingBytes(formId: string): Promise<number> {
    return this.submissions.waitingBytes(formId);
  }

  /** Many that come at once wake it once. Where that is lost with the process, others look by themselves. */
  private wakeWriter(): void {
    this.waking ??= setTimeout(() => {
      this.waking = undefined;
      this.waiting.wake();
    }, WAKE_MS).unref();
  }

  private addWithin(row: NewSubmission, most: number): Promise<boolean | 'full'> {
    return this.database.transaction(async unit => {
      await this.forms.lock(unit, row.form_id);
      if ((await this.submissions.responses(row.form_id, unit)) >= most) return 'full';
      const [isNew = false] = await this.submissions.addAll([row], unit);
      return isNew;
    });
  }
}
