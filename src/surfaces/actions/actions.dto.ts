import { EFFECTS, type Effect } from '../../platform/access/index.js';
import { Field, PageInput, PageOf } from '../../platform/dto/index.js';

const NAME = { max: 64, example: 'file_write' };

/** What narrows the catalog. */
export class FindActions extends PageInput {
  @Field.text('What is to be done, in a few words; the best match comes first', {
    max: 500,
    optional: true,
    example: 'delete file',
  })
  q?: string;

  @Field.choice('Only actions with this effect', EFFECTS, { optional: true }) effect?: Effect;
}

export class SearchActions extends FindActions {
  @Field.id('Only what you may do in this workspace', { optional: true }) workspace_id?: string;
}

export class ActionName {
  @Field.text('Name of the action', NAME) name: string;
}

const INPUT = {
  optional: true,
  shown: true,
  example: { path: 'notes/plan.md', content: 'The plan' },
} as const;

/** What an exec token sends; its workspace is known. */
export class ExecuteAction extends ActionName {
  @Field.json('The input, as the input_schema of the action says; workspace_id is filled in', INPUT)
  input?: unknown;

  @Field.boolean('Check the input and the permission, and do nothing', { optional: true, example: false })
  dry_run?: boolean;
}

export class RunAction extends ExecuteAction {
  @Field.id('The workspace, where the action takes one and the input does not name it', {
    optional: true,
    shown: true,
  })
  workspace_id?: string;
}

export class ActionView {
  @Field.text('Its name', NAME) name: string;
  @Field.text('What people call it', { example: 'File write' }) title: string;

  @Field.text('What it does', { example: 'Write a whole file, making its folders; all of it or nothing' })
  summary: string;

  @Field.choice('What it does to the world', EFFECTS) effect: Effect;

  @Field.json('JSON Schema (2020-12) of its input', { example: { type: 'object', properties: {} } })
  input_schema: unknown;

  @Field.json('JSON Schema (2020-12) of its output', { example: { type: 'object', properties: {} } })
  output_schema: unknown;

  @Field.text('What the caller must be allowed; null for what is their own', {
    nullable: true,
    example: 'file.write',
  })
  permission: string | null;

  @Field.text('What a scoped key must hold', { list: true, example: ['files:write'] }) scopes: string[];
}

export const ActionPage = PageOf(ActionView, 'ActionPage');

export class ActionResultView {
  @Field.id('The run in the ledger: GET /api/action-runs/{id}') run_id: string;
  @Field.choice('validated: checked, and nothing was done', ['completed', 'validated']) status: string;

  @Field.json('What the action gave; null for a dry run', {
    nullable: true,
    example: { path: 'notes/plan.md' },
  })
  output: unknown;
}
