/** A mail on its way out, and what became of it. Its texts are erased as soon as it is settled: they hold secret links. */
export interface MailRow {
  readonly id: string;
  recipient: string;
  subject: string;
  text: string | null;
  html: string | null;
  state: 'waiting' | 'sent' | 'failed';
  attempts: number;
  /** Why it failed, or why the attempt before did. */
  reason: string | null;
  created_at: string;
  settled_at: string | null;
}

export type MailTables = { mail_outbox: MailRow };
