// The dialog that takes a key. A key is tried before it is kept.

import * as api from "./api.js";
import { byId, setText, show } from "./dom.js";

const REFUSALS = {
  401: "The service does not know this key.",
  403: "This key is not for reading: use an auditor's or an admin key.",
};

export function createSignIn(onChange) {
  const dialog = byId("key-dialog");
  const [field, problem] = [byId("key"), byId("key-error")];

  const open = () => {
    field.value = "";
    setText(problem, "");
    field.removeAttribute("aria-invalid");
    dialog.showModal();
    field.focus();
  };
  const refuse = (text) => {
    setText(problem, text);
    field.setAttribute("aria-invalid", "true");
    field.focus();
  };
  const submit = async (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (!key) return refuse("Enter a key.");
    if (!/^[\x21-\x7e]+$/.test(key)) return refuse("A key has no spaces or special letters: copy it again.");
    try {
      await api.allPrivacy({ key }); // what an auditor may read, and a shop may not
    } catch (error) {
      return refuse(REFUSALS[error.status] ?? error.message);
    }
    api.session.key = key;
    dialog.close();
    return onChange();
  };
  byId("key-form").addEventListener("submit", submit);
  byId("key-cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => (field.value = ""));
  byId("sign-in").addEventListener("click", open);
  byId("sign-out").addEventListener("click", () => {
    api.session.key = null;
    onChange();
    byId("sign-in").focus();
  });
  return { open };
}

export function drawAccount(role) {
  const account = byId("account");
  setText(account, role ?? "");
  show(account, Boolean(role));
  show(byId("sign-in"), !role);
  show(byId("sign-out"), Boolean(role));
}
