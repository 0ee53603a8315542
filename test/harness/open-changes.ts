import type { TestService } from './service.js';

/**
 * Changes of files that `work` makes stay open for further writes, however slow this machine is: nothing numbers or captures
 * them, also afterwards.
 */
export async function keepingOpen({ database }: TestService, work: () => Promise<void>): Promise<void> {
  await database.query(`
    create function keep_open() returns trigger language plpgsql as $$
      begin new.created_at := now() + interval '1 hour'; return new; end $$;
    create trigger keep_open before insert on workspace_change for each row execute function keep_open()`);
  try {
    await work();
  } finally {
    await database.query('drop function keep_open cascade');
  }
}
