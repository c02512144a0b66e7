/** The devices of an account on its page: the list of them, those that ask for the account's keys, and the request of this page itself. */

const codeField = (label) => [label, { name: "digits", inputMode: "numeric", autocomplete: "off", maxLength: 20 }];

/**
 * The parts of the page about devices.
 *
 * @param {object} page What they have from it: `post`, `say`, `elements`, `agreementFields` and `agreement`; `current()` is the session, `exchange(isOver)` makes the exchanges of account-approval.js, `nameOf` is of it.
 */
export function devicesOf({ post, say, elements, agreementFields, agreement, current, exchange, nameOf }) {
  const { element, button, form, fill, date, time } = elements;
  const shownCode = (digits) => element("p", { className: "code", tabIndex: -1, textContent: digits });

  /** Shows a part of the page, and puts the keyboard where the person goes on. */
  function showPart(id, ...content) {
    fill(id, ...content);
    document.querySelector(`#${id} input, #${id} .code`)?.focus();
  }

  /** Asks for digits in a part of the page. */
  const askDigits = (part, id, submit, label, content, isAgain) => new Promise((done) => {
    showPart(part, ...content.before, form(id, submit, [codeField(label)], async ({ digits }) => {
      say("");
      done(digits.value);
    }), ...content.after);
    if (isAgain) say("This is another code. Look at the other device again.");
  });

  // --- The list

  function deviceLine(device) {
    const kind = device.isBrowser ? "browser" : "device";
    const line = element("li", {}, element("strong", { textContent: device.name || "without a name" }), ` (${kind}), since ${date(device.created)}, until ${date(device.expires)} `);
    if (device.isCaller) line.append("– this page");
    else line.append(button("Sign out", async () => {
      await post("devices/revoke", { revoke: device.deviceID });
      await showDevices();
      document.querySelector("#devices h2").focus();
      say(`${device.name || "The device"} is signed out.`);
    }, { label: `Sign out ${device.name || "the device"}` }));
    return line;
  }

  function requestArticle(request) {
    const approving = current().keychain && !current().locked ? [button("Approve", () => beginApproval(request), { label: `Approve ${nameOf(request)}` }), " "] : [];
    return element("article", {},
      element("p", {}, element("strong", { textContent: nameOf(request) }), ` asks for your keys, until ${time(request.expires)}.`),
      ...(approving.length > 0 ? [] : [element("p", { textContent: "This page has no keys to give. Approve on a device that has them: welkin devices approve." })]),
      element("p", {}, ...approving, button("Refuse", () => refuse(request), { label: `Refuse ${nameOf(request)}` })));
  }

  async function showDevices() {
    const { devices } = await post("devices/list", {});
    const requests = await exchange(() => false).waiting();
    const none = element("p", { className: "quiet" }, "A device of yours that asks for the keys of your encrypted data is shown here. ", button("Look again", async () => {
      await showDevices();
      document.querySelector("#devices h2").focus();
    }, { id: "look-again" }));
    fill("devices", ...(requests.length > 0 ? requests.map(requestArticle) : []), element("ul", {}, ...devices.map(deviceLine)), ...(requests.length > 0 ? [] : [none]));
  }

  // --- Giving the keys

  async function refuse(request) {
    await exchange(() => false).refuse(request.deviceID);
    await showDevices();
    document.querySelector("#devices h2").focus();
    say("Refused. It can ask again after ten minutes. If it is not yours, sign it out below.");
  }

  /** Asks the person to agree that a device gets the keys, then for its code. */
  function beginApproval(request) {
    const session = current();
    const giving = { isOver: false };
    const isOver = () => giving.isOver || current() !== session;
    const who = element("strong", { textContent: nameOf(request) });
    const refusal = element("p", {}, button("Refuse", async () => {
      giving.isOver = true;
      await refuse(request);
    }, { id: "refuse-request" }));
    const approve = async (fields) => {
      const { secret } = await agreement(fields);
      say("Waiting for the other device…");
      const person = {
        code(isAgain) {
          if (!isAgain) say("");
          const before = [element("p", {}, "Type the code that ", who, " shows.")];
          return askDigits("devices", "type-code", "Give it my keys", "Code of six digits", { before, after: [refusal] }, isAgain);
        },
        confirmation(digits) {
          say("");
          showPart("devices", element("p", {}, "Your keys are sealed for ", who, ". Type this code there:"), shownCode(digits), element("p", { className: "quiet", textContent: "This page waits for two minutes until they are opened." }));
        },
      };
      let isOpened;
      try {
        isOpened = await exchange(isOver).approve(request, { deviceID: session.deviceID, secret }, person);
      } catch (error) {
        if (isOver()) return;
        await showDevices();
        throw error;
      }
      if (isOver()) return;
      await showDevices();
      say(`${nameOf(request)} ${isOpened ? "has opened your keys." : "has not opened your keys yet; they are there for it until the request ends."}`);
    };
    say("");
    showPart("devices",
      element("p", {}, who, " gets the keys of all of your encrypted data. Go on only if you have it before you and it asks for approval now."),
      form("agree-approval", "Go on", agreementFields(), approve), refusal);
  }

  // --- Asking for the keys

  /**
   * Asks the other devices for the account's keys, in a part of the page.
   *
   * @param {boolean} isExtractable Whether they are to be wrapped again.
   * @param {function(): void} back Shows the part as it was.
   * @returns {Promise<object|null>} The keys; null where the person has taken the request back.
   */
  async function askForKeys(part, isExtractable, back) {
    const session = current();
    const asking = { isOver: false };
    const isOver = () => asking.isOver || current() !== session;
    const steps = exchange(isOver);
    let device;
    const cancel = element("p", {}, button("Cancel", async () => {
      asking.isOver = true;
      await steps.refuse(device).catch(() => {});
      back();
      say("The request is taken back.");
    }, { id: "cancel-request" }));
    const person = {
      asked({ deviceID, expires }) {
        device = deviceID;
        showPart(part,
          element("p", {}, `Go to a device or browser of yours that has the keys, and approve this one there, until ${time(expires)}:`),
          element("ul", {},
            element("li", {}, "on a device with ", element("code", { textContent: "welkin devices approve" })),
            element("li", { textContent: "in a browser on this page, below “Devices and browsers”" })),
          element("p", {}, "This one is called ", element("strong", { textContent: `Account page (browser ${deviceID.slice(0, 12)})` }), " there."), cancel);
        say("Waiting for the other device…");
      },
      code(digits) {
        say("Waiting until the code is typed there…");
        showPart(part, element("p", { textContent: "Type this code on the other device:" }), shownCode(digits), cancel);
      },
      confirmation(isAgain) {
        if (!isAgain) say("");
        const before = [element("p", { textContent: "The other device shows another code now. Type it here:" })];
        return askDigits(part, "confirm-keys", "Open my encrypted data", "Code of six digits", { before, after: [cancel] }, isAgain);
      },
    };
    say("One moment…");
    try {
      return await steps.ask(person, isExtractable);
    } catch (error) {
      if (isOver()) return null;
      back();
      throw error;
    }
  }

  return { showDevices, askForKeys };
}
