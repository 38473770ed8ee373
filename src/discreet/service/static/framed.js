// Inside the frame of another site: tell it how high the page is, and when the answer was sent. Never what was answered.

/** The site around this page, if the campaign lists it. @param {string[]} origins */
function site(origins) {
  if (window.parent === window) return null;
  const stated = location.ancestorOrigins?.[0] ?? (document.referrer ? new URL(document.referrer).origin : "");
  return origins.includes(stated) ? stated : null;
}

/** @type {string | null} */
let around = null;

/** @param {Record<string, any>} message */
const tell = (message) => around === null || window.parent.postMessage({ discreet: 1, ...message }, around);

/** Begin to tell the height. @param {string[]} [origins] the sites that may embed the campaign */
export function startFrame(origins = []) {
  around = site(origins);
  if (around === null) return;
  document.body.classList.add("framed");
  new ResizeObserver(() => tell({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) })).observe(document.body);
}

/** Tell that the report was sent. */
export const tellSent = () => tell({ sent: true });
