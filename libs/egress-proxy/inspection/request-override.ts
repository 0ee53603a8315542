import { fieldName } from './credential-rule.js';

/**
 * Headers by which frameworks and proxies take another method, path or host than the request line names: `X-HTTP-Method-Override`
 * (Rails, Laravel, Google), `X-HTTP-Method` (OData), `X-Original-URL`, `X-Rewrite-URL` (Symfony, IIS), `X-Forwarded-Prefix`.
 */
const OVERRIDING_HEADER =
  /^(?:x-)?(?:(?:original|rewrite|rewritten|forwarded|override|real|request|proxy|destination|http|envoy|waws|unencoded)-?)*(?:method|ur[il]|path|prefix|host|script-name)(?:-override)?$/;
/** Headers of that form that every request has, or that are too common to stand for another request. */
const HARMLESS = /^(?:host|(?:x-)?(?:path|ur[il]|prefix))$/;
/** Parameters by which frameworks take another method, without their punctuation: `_method`, `_HttpMethod`, `X-HTTP-Method-Override`. */
const OVERRIDING_PARAMETER = /^x?(?:http)?methodo?(?:verride)?$/;
const METHOD = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|MERGE|OPTIONS|TRACE|CONNECT|LINK|UNLINK)$/;

/** Whether a header may name another request than the one that was looked at. */
export function isOverridingHeader(name: string): boolean {
  const field = fieldName(name);
  return OVERRIDING_HEADER.test(field) && !HARMLESS.test(field);
}

/** Whether a parameter names another method than the request has. */
export function isOverridingParameter(name: string, value: string, method: string): boolean {
  const named = value.trim().toUpperCase();
  return (
    named !== method &&
    METHOD.test(named) &&
    OVERRIDING_PARAMETER.test(name.toLowerCase().replace(/[^a-z]/g, ''))
  );
}

/** The parameter of a query, or of the body of a form, that names another method than the request has. */
export function overridingParameter(encoded: string, method: string): string | undefined {
  // Some servers take a semicolon for an ampersand.
  const parameters = new URLSearchParams(encoded.replaceAll(';', '&'));
  return [...parameters].find(([name, value]) => isOverridingParameter(name, value, method))?.[0];
}
