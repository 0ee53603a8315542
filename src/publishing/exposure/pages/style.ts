import { LOOK } from '../../../platform/pages/index.js';

export const STYLE = `${LOOK}
body{min-height:100vh;display:flex;flex-direction:column}
.skip{position:absolute;left:-999px}
.skip:focus{left:12px;top:12px;z-index:3;padding:8px 14px;background:var(--card)}
.page{width:100%;max-width:62rem;margin:0 auto;padding:32px 24px;flex:1}
.page.narrow{max-width:28rem;padding-top:12vh}
.crumbs{display:flex;flex-wrap:wrap;gap:2px 6px;margin:0 0 10px;padding:0;list-style:none;color:var(--soft);font-size:.9rem}
.crumbs li{display:flex;gap:6px;min-width:0;overflow-wrap:anywhere}
.crumbs li+li::before{content:"/";color:var(--soft);opacity:.6}
.crumbs a{color:inherit;text-decoration:none}
.crumbs a:hover{color:var(--link);text-decoration:underline}
.head{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:12px 24px;margin:0 0 20px}
.head>div{min-width:0;flex:1 1 16rem}
.meta{margin:4px 0 0;color:var(--soft);font-size:.9rem}
.button svg{flex:none}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;overflow:hidden}
.card+.card{margin-top:20px}
.inside{padding:24px}
.note{margin:14px 4px 0;color:var(--soft);font-size:.9rem}
.done{margin:0 0 16px;padding:10px 14px;border-radius:10px;background:var(--good-ground);color:var(--good)}
.done ul{margin:4px 0 0;padding-left:20px}
.files{width:100%;border-collapse:collapse;table-layout:fixed}
.files th{padding:10px 16px;border-bottom:1px solid var(--line);text-align:left;font-size:.8rem;font-weight:600;color:var(--soft)}
.files th a{color:inherit;text-decoration:none}
.files th a:hover{color:var(--link)}
.files th[aria-sort=ascending] a::after{content:" \\2191"}
.files th[aria-sort=descending] a::after{content:" \\2193"}
.files td{padding:0;border-bottom:1px solid var(--line);color:var(--soft);font-size:.9rem}
.files tr:last-child td{border-bottom:0}
.files tbody tr:hover{background:var(--hover)}
.files td a{display:flex;align-items:center;gap:12px;padding:11px 16px;color:var(--ink);font-size:1rem;text-decoration:none;overflow-wrap:anywhere}
.files td a:hover{color:var(--link)}
.files td a:focus-visible{outline-offset:-3px}
.files .num{width:7.5rem;padding-right:16px;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.files .when{width:12rem;padding-right:16px;text-align:right;white-space:nowrap}
.icon{flex:none;width:22px;height:22px;fill:none;stroke:var(--soft);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.icon.folder{fill:var(--folder);stroke:var(--folder)}
.empty{padding:56px 24px;text-align:center;color:var(--soft)}
.empty .icon{width:44px;height:44px;margin-bottom:8px;stroke-width:1.1}
.empty h1{margin-bottom:10px;color:var(--ink)}
.empty p{margin:0}
.empty strong{display:block;color:var(--ink);font-size:1.1rem;overflow-wrap:anywhere}
.empty .button{margin-top:20px}
.code{margin:0;padding:16px 0;counter-reset:line;font:.86rem/1.6 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4}
.code span{display:block;position:relative;min-height:1.6em;padding:0 20px 0 4.75rem}
.code span::before{counter-increment:line;content:counter(line);position:absolute;left:0;width:3.5rem;text-align:right;color:var(--soft);opacity:.65;user-select:none}
.code span:target{background:var(--hover)}
.prose{padding:28px 36px;overflow-wrap:anywhere}
.prose>:first-child{margin-top:0}
.prose>:last-child{margin-bottom:0}
.prose h1{margin:1.2em 0 .5em;font-size:1.75rem}
.prose h2{margin:1.5em 0 .5em;padding-bottom:.3em;border-bottom:1px solid var(--line);font-size:1.35rem;line-height:1.3}
.prose h3{margin:1.4em 0 .4em;font-size:1.1rem}
.prose p,.prose ul,.prose ol,.prose blockquote,.prose table,.prose pre{margin:0 0 1em}
.prose ul,.prose ol{padding-left:1.6em}
.prose li+li{margin-top:.25em}
.prose img{max-width:100%;height:auto;border-radius:8px}
.prose blockquote{padding:.1em 1.1em;border-left:4px solid var(--line);color:var(--soft)}
.prose code{padding:.15em .35em;border-radius:5px;background:var(--code);font:.875em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.prose pre{padding:14px 18px;border-radius:10px;background:var(--code);overflow-x:auto}
.prose pre code{padding:0;background:none}
.prose hr{margin:2em 0;border:0;border-top:1px solid var(--line)}
.prose table{display:block;max-width:100%;overflow-x:auto;border-collapse:collapse}
.prose th,.prose td{padding:7px 14px;border:1px solid var(--line);text-align:left}
.prose th{background:var(--code)}
.prose th,.prose td{overflow-wrap:normal}
.prose .n{text-align:right}
.prose li>ul,.prose li>ol,.prose blockquote>:last-child{margin-bottom:0}
.scroll{max-height:75vh;overflow:auto}
.sheet{border-collapse:separate;border-spacing:0;min-width:100%;font-size:.92rem}
.sheet th,.sheet td{max-width:26rem;padding:8px 13px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.sheet thead th{position:sticky;top:0;background:var(--code);font-weight:600}
.sheet tbody th{width:3rem;color:var(--soft);font-weight:400;font-size:.8rem;text-align:right;user-select:none}
.sheet .n{text-align:right;font-variant-numeric:tabular-nums}
.sheet tr:last-child>*{border-bottom:0}
.picture{display:flex;justify-content:center;padding:20px;background:var(--code)}
.picture img{display:block;max-width:100%;max-height:78vh;height:auto;object-fit:contain;border-radius:6px}
.picture video{max-width:100%;max-height:78vh;border-radius:8px}
.picture audio{width:100%}
.paper{display:block;width:100%;height:82vh;border:0}
input[type=password],input[type=file]{width:100%;margin:0 0 18px;padding:11px 13px;border:1px solid var(--soft);border-radius:10px;background:var(--card);color:inherit;font:inherit}
input[type=file]{padding:26px 18px;border:2px dashed var(--line);background:var(--hover)}
input::file-selector-button{margin:0 12px 0 0;padding:8px 14px;border:1px solid var(--line);border-radius:8px;background:var(--card);color:inherit;font:inherit;font-weight:600;cursor:pointer}
form button{width:100%}
.inside>.icon{width:36px;height:36px;margin:0 0 10px -4px;stroke:var(--folder)}
.lead{margin:6px 0 22px;color:var(--soft)}
footer{padding:20px 24px 28px;text-align:center;color:var(--soft);font-size:.82rem}
@media(max-width:40rem){.page{padding:20px 14px}.page.narrow{padding-top:8vh}.files .when{display:none}.files .num{width:5.6rem}.files td a{padding:13px 12px}.files th{padding:9px 12px}.prose{padding:20px 18px}.head .button{width:100%}.code span{padding:0 12px 0 3.4rem}.code span::before{width:2.6rem}.inside{padding:20px 18px}}
@media print{.button,footer,.crumbs{display:none}body{background:#fff}.scroll{max-height:none}}
`;
