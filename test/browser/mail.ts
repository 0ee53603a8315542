import type { BrowserContext, Page } from 'playwright-core';
import type { FakeSmtpServer } from '../fakes/smtp-server.js';

/** The last mail to an address with such a link, opened as people open it: the link is clicked, and leads to this page. */
export async function clickMail(
  context: BrowserContext,
  smtp: FakeSmtpServer,
  address: string,
  { count = 1, label }: { count?: number; label: string },
): Promise<Page> {
  const mail = (await smtp.mailsTo(address, count)).findLast(({ html }) => html.includes(label));
  const page = await context.newPage();
  await page.setContent(mail?.html ?? '');
  await page.getByRole('link', { name: label, exact: true }).click();
  await page.locator('.brand').waitFor();
  return page;
}
