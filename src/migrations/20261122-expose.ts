import { Migration } from '@mikro-orm/migrations';

/** The effect `expose`, in approvals and policies; refusals in the ledger of actions. */
export class Expose extends Migration {
  override up(): void {
    // Not validated: what is there keeps to the narrower check, and tables that are long are not read through.
    this.addSql(`
      alter table approval drop constraint approval_effect_check;
      alter table approval add constraint approval_effect_check
        check (effect in ('read', 'write', 'destructive', 'expose')) not valid;

      alter table approval_policy add column expose text not null default 'ask' check (expose in ('ask', 'deny'));

      alter table action_run drop constraint action_run_status_check;
      alter table action_run add constraint action_run_status_check
        check (status in ('running', 'completed', 'error', 'validated', 'refused')) not valid;
    `);
  }
}
