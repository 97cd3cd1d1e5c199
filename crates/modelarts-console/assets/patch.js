// Replaces the contents of an element by a fragment of the server, and keeps what did not change.
import { showTimes } from "./times.js";

/**
 * Makes the children of an element those of the HTML of a fragment. Nodes that are equal stay, so
 * focus, selection and open details survive. Elements with an id are matched by it.
 *
 * @param {Element} element Parent of the fragment.
 * @param {string} html Fragment from this server, whose texts are escaped there.
 */
export function patch(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  patchChildren(element, template.content);
  showTimes(element);
}

/**
 * Makes elements of the page those of the HTML of a fragment. They are matched by their ids.
 *
 * @param {string} html Elements with ids, from this server.
 */
export function patchEach(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const wanted of [...template.content.children]) {
    const element = document.getElementById(wanted.id);
    if (element) {
      patchNode(element, wanted);
      showTimes(element);
    }
  }
}

/** Returns the children that have an id, by it. */
function byId(element) {
  return new Map([...element.children].filter(({ id }) => id).map((child) => [child.id, child]));
}

function patchChildren(target, source) {
  const [present, wantedIds] = [byId(target), byId(source)];
  // What is no longer wanted goes first, so that nothing moves, which would lose the focus.
  for (const [id, child] of present) {
    if (!wantedIds.has(id)) {
      child.remove();
    }
  }
  let node = target.firstChild;
  for (const wanted of [...source.childNodes]) {
    let match = node;
    if (wanted.id) {
      match = present.get(wanted.id) ?? null;
    } else if (match?.id) {
      // It stays for the wanted element with its id.
      match = null;
    }
    if (!match || match.nodeType !== wanted.nodeType || match.nodeName !== wanted.nodeName) {
      target.insertBefore(wanted, node);
      continue;
    }
    if (match === node) {
      node = node.nextSibling;
    } else {
      target.insertBefore(match, node);
    }
    patchNode(match, wanted);
  }
  while (node) {
    const next = node.nextSibling;
    node.remove();
    node = next;
  }
}

function patchNode(target, wanted) {
  if (target.nodeType !== Node.ELEMENT_NODE) {
    if (target.nodeValue !== wanted.nodeValue) {
      target.nodeValue = wanted.nodeValue;
    }
    return;
  }
  // The user works in an open dialog or has edited a form, and scripts have written a time in the zone of the user.
  const name = target.localName;
  const isSameTime = () => target.getAttribute("datetime") === wanted.getAttribute("datetime");
  const isInUse = (name === "dialog" && target.open) || "edited" in target.dataset;
  if (isInUse || (name === "time" && isSameTime() && target.title)) {
    return;
  }
  const kept = name === "details" ? ["open"] : name === "time" ? ["title"] : ["style"];
  for (const { name: attribute } of [...target.attributes]) {
    if (!wanted.hasAttribute(attribute) && !kept.includes(attribute)) {
      target.removeAttribute(attribute);
    }
  }
  for (const { name: attribute, value } of [...wanted.attributes]) {
    if (target.getAttribute(attribute) !== value && !kept.includes(attribute)) {
      target.setAttribute(attribute, value);
    }
  }
  patchChildren(target, wanted);
}
