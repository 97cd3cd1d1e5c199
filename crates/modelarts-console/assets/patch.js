// Replaces the contents of an element by a fragment of the server, and keeps what did not change.

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
}

function patchChildren(target, source) {
  let node = target.firstChild;
  for (const wanted of [...source.childNodes]) {
    let match = node;
    if (wanted.id) {
      match = [...target.children].find((child) => child.id === wanted.id) ?? null;
    } else if (node?.id) {
      match = null;
    }
    if (!match || !isSameKind(match, wanted)) {
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

function isSameKind(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName;
}

function patchNode(target, wanted) {
  if (target.nodeType !== Node.ELEMENT_NODE) {
    if (target.nodeValue !== wanted.nodeValue) {
      target.nodeValue = wanted.nodeValue;
    }
    return;
  }
  // The user opens dialogs and details, and scripts write the times of the user's zone.
  if (target.localName === "dialog" || target.isEqualNode(wanted)) {
    return;
  }
  const kept = target.localName === "details" ? ["open"] : [];
  for (const { name } of [...target.attributes]) {
    if (!wanted.hasAttribute(name) && !kept.includes(name)) {
      target.removeAttribute(name);
    }
  }
  for (const { name, value } of [...wanted.attributes]) {
    if (target.getAttribute(name) !== value && !kept.includes(name)) {
      target.setAttribute(name, value);
    }
  }
  patchChildren(target, wanted);
}
