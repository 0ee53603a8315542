import { BudgetFields } from '../../identity/billing/index.js';
import { Field } from '../../platform/dto/index.js';

export class ReadWorkspaceBudget {
  @Field.id('The workspace')
  workspace_id: string;
}

export class SetWorkspaceBudget extends BudgetFields {
  @Field.id('The workspace')
  workspace_id: string;
}
