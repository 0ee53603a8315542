/**
 * What all our pages have in common, those that people sign in on and those that show what was shared: colours, light or dark as
 * the visitor's system is, type, links, buttons, fields and notices.
 */
export const LOOK = `
:root{color-scheme:light dark;--ground:#f5f5f2;--card:#fff;--ink:#1c1c1a;--soft:#64645e;--line:#e3e3dd;--hover:#f7f7f4;--link:#1d4ed8;--fill:#1d4ed8;--on-fill:#fff;--code:#f4f4f0;--alarm:#b91c1c;--alarm-ground:#fef2f2;--good:#166534;--good-ground:#f0fdf4;--folder:#4f7df3}
@media(prefers-color-scheme:dark){:root{--ground:#151517;--card:#1e1e21;--ink:#ececea;--soft:#a3a39c;--line:#333338;--hover:#26262a;--link:#93b4fd;--fill:#3b66e8;--on-fill:#fff;--code:#27272b;--alarm:#fca5a5;--alarm-ground:#3b1a1a;--good:#86efac;--good-ground:#12301d;--folder:#7da0ff}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:4px}
h1{margin:0;font-size:1.6rem;line-height:1.25;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
.button,button{display:inline-flex;align-items:center;justify-content:center;gap:8px;padding:10px 18px;border:1px solid var(--fill);border-radius:10px;background:var(--fill);color:var(--on-fill);font:inherit;font-weight:600;line-height:1.3;text-decoration:none;cursor:pointer}
.button:hover,button:hover{filter:brightness(1.08)}
.problem{margin:0 0 16px;padding:10px 14px;border-radius:10px;background:var(--alarm-ground);color:var(--alarm)}
label{display:block;margin:0 0 6px;font-weight:600}
@media(max-width:40rem){h1{font-size:1.35rem}}
`;
