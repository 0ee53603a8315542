import { Migration } from '@mikro-orm/migrations';

/** Whatever changes a policy publishes that: processes remember those that they have read. */
export class PolicyTopic extends Migration {
  override up(): void {
    this.addSql(`
      create function tell_of_policy() returns trigger language plpgsql as $$
      begin
        perform notify_topic('approval-policy:' || coalesce(new.workspace_id, old.workspace_id));
        return null;
      end $$;
      create trigger policy_changed after insert or update or delete on approval_policy
        for each row execute function tell_of_policy();
    `);
  }
}
