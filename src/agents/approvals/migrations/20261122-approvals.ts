import { Migration } from '@mikro-orm/migrations';

/** What becomes of a call that needs an approval may be left to the workspace's policy, or be a refusal. */
export class Approvals extends Migration {
  override up(): void {
    this.addSql(`
      alter table run drop constraint run_on_approval_check, alter column on_approval drop not null,
        alter column on_approval drop default;
      alter table run add check (on_approval in ('wait', 'fail', 'refuse'));
      update run set on_approval = null;
    `);
  }
}
