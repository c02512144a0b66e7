import ArgumentParser
import CloudKitDevice

/// Gives the account's keys to another device that is signed in without them.
struct ApproveDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve", abstract: "Give the keys to another device of yours that asks for them.",
        discussion: """
            A device that a provider of identities signed in, or a password that the operator has set, has no keys of your encrypted data until \
            a device that has them approves. Type here the code of six digits that the device shows, and there the one that is shown here: so \
            neither the cloud nor anybody between takes the place of one of them. The keys travel sealed; the cloud cannot open them.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: "The id of the device that asks, or its first digits; needed if several ask.") var id: String?
    @Flag(help: "Refuse the request; the device cannot ask again for ten minutes.") var refuse = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let asking = try await signIn.keyRequests(container: container).filter { $0.deviceID.hasPrefix(id ?? "") }
        guard let first = asking.first else { throw KeyRequestError.notFound }
        for request in asking {
            Output.remark("\(KeyRequestDialogue.name(of: request)) asks since \(Output.time(request.created)).")
        }
        guard asking.count == 1 else { throw KeyRequestError.ambiguous }
        if refuse {
            try await signIn.refuse(first.deviceID, container: container)
            return Output.result(
                "Refused. If the device is not yours: welkin devices revoke \(first.deviceID.prefix(12))")
        }
        let answered = try await signIn.answer(first, container: container, pause: KeyRequestDialogue.pause)
        let isOpened = try await signIn.approve(
            answered, container: container, pause: KeyRequestDialogue.pause,
            ask: { KeyRequestDialogue.digits("The code that \(KeyRequestDialogue.name(of: first)) shows: ") },
            report: { Output.remark("Type there: \(KeyRequestDialogue.spaced($0))") })
        Output.result(
            isOpened
                ? "The device has opened the keys."
                : "The keys are there for the device, which has not opened them yet.")
    }
}

/// Asks another device for the account's keys.
struct RequestKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Ask another device of yours for the keys of your encrypted data.",
        discussion: """
            For a device that is signed in without the keys. Approve on a device that has them, with welkin devices approve: type there the \
            code that is shown here, and here the one that is shown there.
            """)

    @OptionGroup var device: DeviceOptions

    func run() async throws {
        let (configuration, container) = try device.signIn()
        guard try configuration.deviceProfile.credentials() != nil else { throw SignInError.notSignedIn }
        let issue = try configuration.deviceProfile.credentials()?.trouble
        guard try configuration.deviceProfile.keychain() == nil || issue == .keysReset else {
            throw CommandFailure("This device has the account's keys already.")
        }
        try await KeyRequestDialogue(
            signIn: SignIn(configuration: configuration, send: WebSend.send), container: container
        ).ask()
    }
}

/// The part of a dialogue in which a device gets the account's keys from another one.
struct KeyRequestDialogue {
    var signIn: SignIn
    var container: String

    /// Asks, shows the code, and waits until the keys are here.
    func ask() async throws {
        try await signIn.requestKeys(
            container: container, pause: Self.pause,
            report: { progress in
                switch progress {
                case .asked(let expires):
                    Output.remark(
                        "Approve on a device of yours that has the keys, until \(Output.time(expires)) UTC: welkin devices approve"
                    )
                case .code(let code): Output.remark("Type there: \(Self.spaced(code))")
                }
            },
            confirm: { Self.digits("The code that the other device shows now: ") })
        Output.remark("Your encrypted data is open here.")
    }

    /// Returns the digits that the person types; nil at the end of standard input.
    static func digits(_ text: String) -> String? {
        Output.write(text, to: 2)
        return readLine()
    }

    @Sendable static func pause() async throws { try await Task.sleep(for: .seconds(1)) }

    /// Returns a code in two groups of digits.
    static func spaced(_ code: String) -> String { "\(code.prefix(3)) \(code.dropFirst(3))" }

    /// Returns what a person recognises a request by.
    static func name(of request: ListedKeyRequest) -> String {
        let kind = request.isBrowser ? "browser" : "device"
        return
            "\(request.name.isEmpty ? "A \(kind) without a name" : request.name) (\(kind) \(request.deviceID.prefix(12)), from \(request.address))"
            .onOneLine
    }
}
