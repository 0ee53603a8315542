import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { accessTopic, hashSecret, workspaceAccessTopic } from '../../../platform/access/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import { LinkAccess } from '../../exposure/index.js';
import type { FormDefinition } from '../file/form-definition.js';
import { CurrentForms } from '../links/current-forms.js';
import { deriveState } from '../links/form-views.js';
import { FORM_LINK, type FormRow, FormsStore, formTopic } from '../records/forms.store.js';
import { SubmissionsStore } from '../records/submissions.store.js';

/** A form that was opened by its link. */
export interface OpenForm {
  readonly form: FormRow;
  readonly definition: FormDefinition;
  /** `/f/{token}` */
  readonly home: string;
  readonly state: ReturnType<typeof deriveState>;
}

const MAX_ROWS = 500;
const TTL_MS = 60_000;

/** Opening forms: what anybody on the internet can ask of one. */
@Injectable()
export class FormVisits {
  /** By the hash of their tokens, until something changes that decides about them. */
  private readonly rows: TopicCache<FormRow | undefined>;

  constructor(
    private readonly forms: FormsStore,
    private readonly submissions: SubmissionsStore,
    private readonly current: CurrentForms,
    private readonly access: LinkAccess,
    topics: Topics,
  ) {
    const kinds = [formTopic, accessTopic, workspaceAccessTopic];
    this.rows = new TopicCache(topics, kinds, { max: MAX_ROWS, ttlMs: TTL_MS });
  }

  /** Throws NotFound, Gone, or Locked where the password is yet to be entered. */
  async open(token: string, request: FastifyRequest): Promise<OpenForm> {
    const row = await this.find(token);
    this.access.requirePass(request, row);
    const form = await this.current.current(row);
    const { definition } = form;
    const responses = definition.maxResponses === null ? 0 : await this.submissions.responses(form.id);
    return { form, definition, home: `/f/${token}`, state: deriveState(form, definition, responses) };
  }

  /** Throws NotFound or Gone. */
  async find(token: string): Promise<FormRow> {
    const hash = hashSecret(token);
    return FORM_LINK.requireActive(await this.rows.get(hash, () => this.forms.findByTokenHash(hash)));
  }
}
