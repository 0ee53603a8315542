import { Injectable } from '@nestjs/common';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { isNoFile, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { task, Workers } from '../../../platform/workers/index.js';
import { FileWriter } from '../../../workspaces/changes/index.js';
import type { CsvInput, CsvOutput, CsvRow } from './csv-table.js';

const ADD_ROWS = task('src/publishing/forms/responses/csv-table', 'addRows');
const ADD_MS = 30_000;
/** A file is written anew with each batch of rows; beyond this another one is begun. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_FILES = 1000;
/** People and programs may write to it meanwhile. */
const MAX_ATTEMPTS = 20;

export interface ResponseTarget {
  readonly workspaceId: string;
  readonly formId: string;
  readonly files: WorkspaceFs;
  /** The file of the form as it says, with its folder. */
  readonly output: string;
  /** The one that is written to. */
  readonly path: string;
  readonly columns: readonly string[];
}

/** Where rows went, and why not to the file that they belong to. */
export interface Added {
  readonly path: string;
  readonly problem?: string;
}

type Attempt = 'done' | 'changed' | 'unreadable' | 'too large';

/** The file of a form for responses: rows are in it once, and what people did to it stays. */
@Injectable()
export class ResponseFile {
  constructor(
    private readonly writer: FileWriter,
    private readonly workers: Workers,
  ) {}

  /** Returns the file that has the rows now: another one, numbered, where its header cannot be read. */
  async add(target: ResponseTarget, rows: readonly CsvRow[]): Promise<Added> {
    let problem: string | undefined;
    for (let number = 1; number <= MAX_FILES; number++) {
      const path = number === 1 ? target.path : numbered(target.output, number);
      if (number > 1 && path === target.path) continue;
      const outcome = await this.addTo(target, path, rows);
      if (outcome === 'done') return { path, problem };
      problem ??= `${path} ${outcome === 'too large' ? 'has become too large' : 'has a first line without submission_id, or is no table'}`;
    }
    throw new WorkspaceFsError('exists', target.output);
  }

  private async addTo(target: ResponseTarget, path: string, rows: readonly CsvRow[]): Promise<Attempt> {
    for (let n = 0; n < MAX_ATTEMPTS; n++) {
      const outcome = await this.attempt(target, path, rows);
      if (outcome !== 'changed') return outcome;
    }
    throw new WorkspaceFsError('busy', path);
  }

  private async attempt(
    { workspaceId, formId, files, columns }: ResponseTarget,
    path: string,
    rows: readonly CsvRow[],
  ): Promise<Attempt> {
    const entry = await files.find(path);
    if (entry && entry.type !== 'file') return 'unreadable';
    if (entry && entry.size > MAX_BYTES) return 'too large';
    try {
      const bytes = entry && (await files.readBytes(path, MAX_BYTES + 1));
      const text = await this.withRows({ bytes, columns, rows });
      if (text === undefined) return 'unreadable';
      if (text === null) return 'done';
      const condition = entry ? { ifMatch: entry.etag ?? '' } : { ifNoneMatch: '*' as const };
      const writer = { type: 'form', id: formId } as const;
      await this.writer.write({ workspaceId, files, path, writer }, text, condition);
      return 'done';
    } catch (error) {
      if (hasChanged(error)) return 'changed';
      throw error;
    }
  }

  private async withRows(input: CsvInput): Promise<CsvOutput['text']> {
    try {
      return (await this.workers.patiently<CsvOutput>(ADD_ROWS, input, ADD_MS)).text;
    } catch (error) {
      if (error instanceof TookTooLong) return undefined;
      throw error;
    }
  }
}

const hasChanged = (error: unknown): boolean =>
  error instanceof WorkspaceFsError &&
  (['precondition_failed', 'exists', 'too_large'].includes(error.code) || isNoFile(error));

const numbered = (path: string, number: number): string =>
  path.replace(/(\.csv)?$/i, ending => `-${number}${ending || '.csv'}`);
