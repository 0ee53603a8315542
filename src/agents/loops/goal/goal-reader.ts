import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { WorkspaceFsError, workspacePath } from '#libs/workspace-fs/index.js';
import { checked } from '../../../platform/dto/index.js';
import { Invalid, NotFound } from '../../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../../../workspaces/core/index.js';
import { ModelCatalog, ModelSettingsStore, ResponseSchemas } from '../../models/index.js';
import type { Goal } from '../records/index.js';
import { criteriaOf, MAX_CRITERIA } from './criteria.js';
import { type CheckInput, UntilInput } from './until.dto.js';

const MAX_CODE_BYTES = 256 * 1024;
const NOTHING = 'until: say what must hold, as check, schema or rubric';
/** The provider of the built-in model that can follow simple commands and judge nothing. */
const DEMO_PROVIDER = 'atelier';

/** A goal, with the bytes of its check. */
export interface PinnedGoal {
  readonly goal: Goal;
  readonly code: Buffer | null;
}

/** Reads and pins what must hold: from then on neither the files nor the agents of the workspace change it. */
@Injectable()
export class GoalReader {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly schemas: ResponseSchemas,
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
  ) {}

  /** The input, in the form that has fields. Throws Invalid. */
  inputOf(until: unknown): UntilInput {
    const input = untilOf(until);
    if (input.check === undefined && input.schema === undefined && input.rubric === undefined)
      throw new Invalid(NOTHING);
    if (input.grader_model !== undefined && input.rubric === undefined)
      throw new Invalid('until.grader_model: only a rubric has a grader; give until.rubric, too');
    return input;
  }

  /** `model`: that of the loop. Throws Invalid, and NotFound where the file of a check is missing. */
  async pin(workspace: VisibleWorkspace, until: UntilInput, model: string): Promise<PinnedGoal> {
    const { check, schema, rubric, grader_model } = until;
    const pinned = check ? await this.check(workspace, check) : { check: null, code: null };
    const goal: Goal = {
      check: pinned.check,
      schema: schema === undefined ? null : await this.schema(schema),
      rubric:
        rubric === undefined
          ? null
          : await this.rubric(workspace.organization_id, rubric, grader_model ?? null, model),
    };
    return { goal, code: pinned.code };
  }

  private async check(
    workspace: VisibleWorkspace,
    { run, file, code }: CheckInput,
  ): Promise<{ check: Goal['check']; code: Buffer }> {
    if ((file === undefined) === (code === undefined))
      throw new Invalid('until.check: give either file or code');
    const path = file === undefined ? null : workspacePath(file);
    const bytes = path === null ? Buffer.from(code ?? '') : await this.file(workspace, path);
    return { check: { run, path, sha256: hash('sha256', bytes, 'hex'), bytes: bytes.length }, code: bytes };
  }

  private async file(workspace: VisibleWorkspace, path: string): Promise<Buffer> {
    const files = this.folders.open(workspace);
    try {
      const { size, type } = await files.stat(path);
      if (type !== 'file') throw new Invalid(`until.check.file: ${path} is no file`);
      if (size > MAX_CODE_BYTES)
        throw new Invalid(`until.check.file: ${path} has ${size} bytes; a check may have ${MAX_CODE_BYTES}`);
      return await files.readBytes(path, MAX_CODE_BYTES);
    } catch (error) {
      if (error instanceof WorkspaceFsError && error.code === 'not_found')
        throw new NotFound(`until.check.file: there is no file ${path} in this workspace`);
      throw error;
    }
  }

  private async schema(schema: unknown): Promise<Record<string, unknown>> {
    try {
      await this.schemas.requireUsable(schema);
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      throw new Invalid(`until.schema ${error.detail.replace(/^response_schema /, '')}`);
    }
    return schema as Record<string, unknown>;
  }

  private async rubric(
    organizationId: string,
    text: string,
    asked: string | null,
    ofLoop: string,
  ): Promise<Goal['rubric']> {
    const criteria = criteriaOf(text);
    if (criteria.length > MAX_CRITERIA)
      throw new Invalid(`until.rubric: it has ${criteria.length} points; at most ${MAX_CRITERIA} are graded`);
    const model = await this.models.resolve(organizationId, asked ?? ofLoop, 'until.grader_model');
    if (this.catalog.describe(model)?.provider === DEMO_PROVIDER)
      throw new Invalid(
        `until.rubric: ${model} is no language model and cannot grade; configure a provider (for example ANTHROPIC_API_KEY) and name one of its models as until.grader_model, or use until.check or until.schema`,
      );
    return { text, criteria, model };
  }
}

function untilOf(until: unknown): UntilInput {
  const plain = typeof until === 'string' ? { rubric: until } : until;
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) throw new Invalid(NOTHING);
  try {
    return checked(UntilInput, plain);
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    throw new Invalid(`until.${error.detail}`);
  }
}
