/** How far browsers keep what users host apart from the service: by another site, or by another origin of the same site. */
type Isolation = 'separate_site' | 'same_site' | 'none';

/** Second levels below which countries give out names: `co.uk`, `com.au`. */
const SECOND_LEVEL = /^(ac|co|com|edu|gov|go|gob|gouv|net|ne|nom|or|org|id|me|sch|nhs|ltd|plc)$/;

/**
 * The part of a name that somebody registered. Where it cannot be told without the public suffix list, it is the longer
 * part that two names share: they are then taken for one site, which is the careful answer.
 */
function siteOf(host: string): string {
  const labels = host.split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const isCountry = top.length === 2 && SECOND_LEVEL.test(second);
  return labels.slice(isCountry ? -3 : -2).join('.');
}

/** `none` where there is no domain for hosts. */
export function isolationOf(domain: string | undefined, serviceHost: string): Isolation {
  if (domain === undefined) return 'none';
  return siteOf(domain) === siteOf(serviceHost) ? 'same_site' : 'separate_site';
}
