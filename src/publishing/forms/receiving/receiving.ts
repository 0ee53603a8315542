import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import mime from 'mime';
import { sanitised } from '#libs/http-files/index.js';
import { Quotas } from '../../../identity/auth/index.js';
import { Config } from '../../../platform/config/index.js';
import { newId } from '../../../platform/database/index.js';
import { TooLarge } from '../../../platform/errors/index.js';
import { checkAnswers, type Mistake } from '../file/answers.js';
import type { FormDefinition, FormField } from '../file/form-definition.js';
import type { HandedFile } from '../records/submissions.store.js';
import { Admission } from './admission.js';
import type { OpenForm } from './form-visits.js';
import { type HandedIn, readHandedIn } from './handed-in.js';
import { ProofOfWork } from './proof-of-work.js';
import { StagedFiles } from './staged-files.js';

/** What becomes of what was handed in. */
export type Outcome =
  | { readonly kind: 'received' }
  /** To be mended and sent again. */
  | {
      readonly kind: 'refused';
      readonly values: HandedIn['values'];
      readonly mistakes: readonly Mistake[];
      readonly problem?: string;
    }
  | { readonly kind: 'closed' };

interface Staged {
  readonly files: HandedFile[];
  readonly mistakes: Mistake[];
}

/** Bytes of files that may wait for one form. */
const MAX_WAITING = 500 * 1024 * 1024;

/** Takes responses in: checked, their files staged, then the row; only then they are confirmed. */
@Injectable()
export class Receiving {
  constructor(
    private readonly config: Config,
    private readonly admission: Admission,
    private readonly staged: StagedFiles,
    private readonly proofs: ProofOfWork,
    private readonly quotas: Quotas,
  ) {}

  async receive(open: OpenForm, request: FastifyRequest): Promise<Outcome> {
    const id = newId();
    const { form, definition } = open;
    let isKept = false;
    try {
      const { staged, handed } = await this.read(open, id, request);
      const counts = new Map<string, number>();
      for (const { field } of staged.files) counts.set(field, (counts.get(field) ?? 0) + 1);
      const { answers, mistakes, shown } = checkAnswers(definition, handed.values, counts);
      const all = [...mistakes, ...staged.mistakes.filter(({ id }) => shown.has(id))];
      const files = staged.files.filter(({ field }) => shown.has(field));
      const found = this.admission.look(open, handed);
      const problem =
        found.kind === 'refused' ? found.problem : await this.prove(open, handed, all, request.ip);
      if (found.kind === 'refused' || all.length > 0 || problem !== undefined) {
        // What was kept before is confirmed again, whatever is wrong with it now.
        if (await this.admission.isKnown(open, found.key)) return { kind: 'received' };
        return { kind: 'refused', values: handed.values, mistakes: all, problem };
      }
      if (files.length > 0) await this.staged.settle(form.id, id);
      else if (staged.files.length > 0) await this.staged.remove(form.id, id);
      const { key, reason } = found;
      const added = await this.admission.keep(open, {
        id,
        form_id: form.id,
        submission_key: key,
        data: answers,
        files,
        state: reason === null ? 'received' : 'spam',
        reason,
        address: request.ip,
      });
      isKept = added === 'added';
      return added === 'full' ? { kind: 'closed' } : { kind: 'received' };
    } finally {
      if (!isKept) await this.staged.remove(form.id, id);
    }
  }

  /** Undefined where no work is asked for, or it was done; else what is to be done. 429 where too much came from there, or at all. */
  private async prove(
    { form, definition }: OpenForm,
    { proof }: HandedIn,
    mistakes: readonly Mistake[],
    address: string,
  ): Promise<string | undefined> {
    // Mistakes come first.
    if (mistakes.length > 0) return undefined;
    const { form_address, form: all } = this.config.hourLimits;
    if (form_address > 0) await this.quotas.spendOfAddress(`form-${form.id}`, address, form_address);
    if (all > 0) await this.quotas.spendOfAccount('form', form.id, all);
    if (!(await this.proofs.isNeeded(form.id, definition))) return undefined;
    if (await this.proofs.isSolved(form.id, proof)) return undefined;
    return 'Many responses come in just now. Wait for the check at the end of the form, and send it again.';
  }

  /** What a preview makes of it; nothing is stored. */
  async tryOut(definition: FormDefinition, request: FastifyRequest): Promise<Outcome> {
    const counts = new Map<string, number>();
    const mistakes: Mistake[] = [];
    const handed = await readHandedIn(request, async (id, name, bytes) => {
      const field = fileField(definition, id);
      if (field) counts.set(id, (counts.get(id) ?? 0) + 1);
      if (field && !isAccepted(field, name)) mistakes.push(notAccepted(field));
      for await (const _ of bytes);
    });
    const checked = checkAnswers(definition, handed.values, counts);
    const all = [...checked.mistakes, ...mistakes.filter(({ id }) => checked.shown.has(id))];
    return all.length > 0 ? { kind: 'refused', values: handed.values, mistakes: all } : { kind: 'received' };
  }

  private async read(
    { form, definition }: OpenForm,
    id: string,
    request: FastifyRequest,
  ): Promise<{ staged: Staged; handed: HandedIn }> {
    const staged: Staged = { files: [], mistakes: [] };
    const handed = await readHandedIn(request, async (fieldId, given, bytes) => {
      const field = fileField(definition, fieldId);
      const isWanted = field && isAccepted(field, given);
      if (field && !isWanted) staged.mistakes.push(notAccepted(field));
      if (!isWanted) {
        for await (const _ of bytes);
        return;
      }
      if (staged.files.length === 0 && (await this.admission.waitingBytes(form.id)) > MAX_WAITING)
        throw new TooLarge('The form takes no more files at the moment');
      const number = staged.files.length;
      const size = await this.staged.put(form.id, id, number, bytes);
      staged.files.push({ field: fieldId, name: uniqueName(staged.files, sanitised(given)), size, number });
    });
    return { staged, handed };
  }
}

const fileField = ({ fields }: FormDefinition, id: string): FormField | undefined =>
  fields.find(field => field.type === 'file' && field.id === id);

/** By its name alone: nothing of ours opens it. */
function isAccepted({ accept }: FormField, name: string): boolean {
  if (accept.length === 0) return true;
  const lower = name.toLowerCase();
  const type = mime.getType(lower) ?? '';
  return accept.some(one =>
    one.startsWith('.')
      ? lower.endsWith(one)
      : one.endsWith('/*')
        ? type.startsWith(one.slice(0, -1))
        : type === one,
  );
}

const notAccepted = ({ id, accept }: FormField): Mistake => ({
  id,
  message: `this takes only ${accept.join(', ')}`,
});

/** Two files of one response may have the same name. */
function uniqueName(files: readonly HandedFile[], wanted: string): string {
  const taken = new Set(files.map(({ name }) => name.toLowerCase()));
  for (let n = 1, name = wanted; ; name = `${++n} ${wanted}`) if (!taken.has(name.toLowerCase())) return name;
}
