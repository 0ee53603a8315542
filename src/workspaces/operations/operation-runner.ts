import { Injectable } from '@nestjs/common';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Problem } from '../../platform/errors/index.js';
import type { Attempt } from '../../platform/jobs/index.js';
import {
  type End,
  isOver,
  type Operation,
  type OperationKind,
  OperationsStore,
  type Progress,
  type Result,
} from './operations.store.js';

const MAX_ATTEMPTS = 5;

class Cancelled extends Error {}

/** Ends an operation: no retry helps. The message says to its caller what to do. */
export class OperationRefused extends Error {}

/** Throws when the operation is cancelled. */
export type Report = (progress: Progress) => Promise<void>;

export interface OperationWork<Input extends object> {
  readonly kind: OperationKind<Input>;
  /** Resumes what an earlier attempt left behind. */
  perform(operation: Operation<Input>, report: Report, signal: AbortSignal): Promise<Result | null>;
  /** Runs in the transaction that completes it. */
  complete(unit: UnitOfWork, operation: Operation<Input>): Promise<void>;
  /** Deletes what was made, in the transaction that ends it otherwise. */
  undo(unit: UnitOfWork, operation: Operation<Input>): Promise<void>;
}

@Injectable()
export class OperationRunner {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsStore,
  ) {}

  async run<I extends object>(
    id: string,
    work: OperationWork<I>,
    { failures, signal }: Attempt,
  ): Promise<void> {
    const operation = await this.findOpen(id, work);
    if (!operation) return;
    try {
      const result = await work.perform(operation, progress => this.report(id, progress), signal);
      await this.end(operation, { state: 'completed', result }, work);
    } catch (error) {
      if (error instanceof Cancelled) return this.end(operation, { state: 'cancelled' }, work);
      if (signal.aborted || (!isHopeless(error) && failures + 1 < MAX_ATTEMPTS)) throw error;
      await this.end(operation, { state: 'error', error: reasonOf(error) ?? work.kind.failed }, work);
    }
  }

  async abandon<I extends object>(id: string, work: OperationWork<I>): Promise<void> {
    const operation = await this.findOpen(id, work);
    if (operation) await this.end(operation, { state: 'error', error: work.kind.failed }, work);
  }

  private async findOpen<I extends object>(
    id: string,
    { kind }: OperationWork<I>,
  ): Promise<Operation<I> | undefined> {
    const operation = await this.operations.find(id);
    return operation && operation.kind === kind.kind && !isOver(operation)
      ? (operation as Operation<I>)
      : undefined;
  }

  private async report(id: string, progress: Progress): Promise<void> {
    const operation = await this.operations.report(id, progress);
    if (!operation || operation.cancel_requested) throw new Cancelled();
  }

  private async end<I extends object>(
    operation: Operation<I>,
    end: End,
    work: OperationWork<I>,
  ): Promise<void> {
    await this.database.transaction(async unit => {
      if (!(await this.operations.end(unit, operation.id, end))) return;
      if (end.state === 'completed') await work.complete(unit, operation);
      else await work.undo(unit, operation);
    });
  }
}

/** Retries will not help. */
const isHopeless = (error: unknown): boolean =>
  error instanceof OperationRefused ||
  (error instanceof WorkspaceFsError && ['no_space', 'not_found'].includes(error.code));

/** What is meant for the caller; a fault of ours is not. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof OperationRefused || error instanceof WorkspaceFsError) return error.message;
  return error instanceof Problem ? error.detail : undefined;
}
