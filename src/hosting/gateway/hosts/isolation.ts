/** How browsers separate hosted content from the service: by site, or only by origin. */
type Isolation = 'separate_site' | 'same_site' | 'none';

/** Second levels of country domains: `co.uk`, `com.au`. */
const SECOND_LEVEL = /^(ac|co|com|edu|gov|go|gob|gouv|net|ne|nom|or|org|id|me|sch|nhs|ltd|plc)$/;

/** Registrable domain, approximated without the public suffix list. Errs towards `same_site`, the careful answer. */
function siteOf(host: string): string {
  const labels = host.split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const isCountry = top.length === 2 && SECOND_LEVEL.test(second);
  return labels.slice(isCountry ? -3 : -2).join('.');
}

/** `none` without a domain for hosts. */
export function compareSites(domain: string | undefined, serviceHost: string): Isolation {
  if (domain === undefined) return 'none';
  return siteOf(domain) === siteOf(serviceHost) ? 'same_site' : 'separate_site';
}
