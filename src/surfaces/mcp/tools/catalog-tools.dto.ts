import { EFFECTS, type Effect } from '../../../platform/access/index.js';
import { Field } from '../../../platform/dto/index.js';

const NAME = { max: 64, example: 'file_move' };

export class SearchActions {
  @Field.text('What is to be done; absent: every action', { max: 500, optional: true }) query?: string;
  @Field.choice('Only actions with this effect', EFFECTS, { optional: true }) effect?: Effect;
  @Field.id('Only what you could do in this workspace', { optional: true }) workspace_id?: string;
  @Field.integer('Most actions to list', { min: 1, max: 100, optional: true }) limit?: number;
}

export class ActionName {
  @Field.text('Name of the action', NAME) name: string;
}

export class RunAction extends ActionName {
  @Field.record('Its input, as its input_schema says', { optional: true }) input?: object;

  @Field.id('The workspace, where the action takes one and the input does not name it', { optional: true })
  workspace_id?: string;

  @Field.boolean('Only check whether it could be run', { optional: true }) dry_run?: boolean;
}

class FoundAction {
  @Field.text('Its name', NAME) name: string;
  @Field.choice('What it does to the world', EFFECTS) effect: Effect;
  @Field.text('What it does') summary: string;
}

export class ActionsFound {
  @Field.object('The best match first', () => FoundAction, { list: true }) actions: FoundAction[];
  @Field.integer('How many more there are') more: number;
}

export class ActionDetails extends FoundAction {
  @Field.text('What people call it') title: string;
  @Field.record('JSON Schema of its input') input_schema: unknown;
  @Field.record('JSON Schema of its output') output_schema: unknown;
  @Field.text('What the caller must be allowed', { nullable: true }) permission: string | null;
  @Field.text('What a scoped key must hold', { list: true }) scopes: string[];
}

export class ActionOutcome {
  @Field.id('The run in the ledger') run_id: string;
  @Field.choice('validated: checked, and nothing was done', ['completed', 'validated']) status: string;
  @Field.record('What the action gave', { nullable: true }) output: object | null;
  @Field.integer('Characters of the output that were too many to show', { optional: true }) left_out?: number;
}
