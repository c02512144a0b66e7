import CloudKitModel
import CloudKitWire

/// The protocol in which a cloud is spoken to.
///
/// The one seam between what the framework asks for and what travels: which endpoints there are, how a request proves its sender, and how
/// an answer is read are decided here; code elsewhere asks `isNative` alone, where keys are concerned.
package enum CloudSurface: Sendable {
    /// Web services with the additions of a Welkin cloud (docs/web-services.md).
    case native
    /// Documented web services alone, such as Apple's service.
    case webServices(WebServicesAccess)

    /// A Boolean value that indicates whether the cloud knows the additions: keys, the directory of identities, files in pieces,
    /// notifications.
    package var isNative: Bool { if case .native = self { true } else { false } }

    /// The most operations, records or zones of one request (B-LIM-01, B-LIM-03).
    var itemsMax: Int { isNative ? RequestLimits.itemsMax : 200 }

    private var signer: ServerKeySigner? {
        if case .webServices(let access) = self { access.signer } else { nil }
    }

    /// A Boolean value that indicates whether requests carry an API token.
    var sendsAPIToken: Bool { signer == nil }

    /// Refuses a call that documented web services cannot answer, before it is sent.
    func check(_ endpoint: CloudEndpoint, _ scope: DatabaseScope) throws(CallFailure) {
        guard !isNative else { return }
        if let addition = endpoint.addition { throw .beyondWebServices(addition) }
        if signer != nil, scope != .public {
            throw .beyondWebServices("A server-to-server key reaches the public database only")
        }
    }

    /// Returns the headers of a request of an operation.
    func headers(_ settings: CallSettings) -> [String: String] { isNative ? settings.headers : [:] }

    /// Returns the headers that prove the sender of a request; none where tokens in the query do.
    ///
    /// - Parameters:
    ///   - target: The path of the request with its query.
    ///   - now: Milliseconds since 1970.
    func signature(
        of body: [UInt8], to target: String, now: Int64
    ) throws(CallFailure) -> [String: String] {
        guard let signer else { return [:] }
        return try signer.headers(for: body, to: target, now: now)
    }

    /// Returns an answer in the form that our own surface gives it: with the caller's own name as `__defaultOwner__`.
    ///
    /// - Parameter askUser: Asks the service who the user is; nil: it has none.
    func read(
        _ answer: [UInt8], of endpoint: CloudEndpoint, askUser: () async throws -> String?
    ) async throws -> [UInt8] {
        guard case .webServices(let access) = self, endpoint != .caller else { return answer }
        return OwnNames(caller: try await access.caller(askUser)).replaced(in: answer)
    }
}
