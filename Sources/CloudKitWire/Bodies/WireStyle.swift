import CloudKitModel

/// The form in which an answer is printed, and its receiver.
package struct WireStyle: Sendable {
    /// The kinds of clients, by the form of their bodies.
    package enum Surface: Hashable, Sendable {
        /// Documented web services, nothing else.
        case web
        /// Our own SDK (`X-Welkin-Client`): additive keys, and the caller as `__defaultOwner__` (B-ZN-03).
        case native
    }

    /// The kind of the client.
    package var surface: Surface
    /// The user who asks; nil if there is none or it is irrelevant.
    package var caller: UserID?
    /// The UUID of the request, for error items and error objects.
    package var requestUUID: String
    /// A Boolean value that indicates whether INT64 and DOUBLE values are printed as strings (docs/web-services.md
    /// §4.4).
    package var numbersAsStrings: Bool
    /// The fields to print; nil: all, empty: none.
    package var desiredKeys: [String]?
    /// Returns the URL from which an asset can be downloaded; nil if there is none.
    package var downloadURL: (@Sendable (AssetValue) -> String?)?

    /// Creates a value with the given properties.
    package init(
        surface: Surface, caller: UserID?, requestUUID: String, numbersAsStrings: Bool = false,
        desiredKeys: [String]? = nil
    ) {
        self.surface = surface
        self.caller = caller
        self.requestUUID = requestUUID
        self.numbersAsStrings = numbersAsStrings
        self.desiredKeys = desiredKeys
    }

    /// A Boolean value that indicates whether the client is our own, which reads the additions to web services.
    package var isNative: Bool { surface == .native }

    /// Returns the name of a zone's owner. Web services name the public default zone's owner `_defaultOwner`.
    func name(ofOwner owner: UserID) -> String {
        if isNative { return owner.isCaller || owner == caller ? UserID.caller.recordName : owner.recordName }
        return owner == .caller ? (caller ?? owner).recordName : owner.recordName
    }

    /// Returns the name of a user who created or modified a record.
    func name(ofUser user: UserID) -> String {
        if isNative { return user == caller ? UserID.caller.recordName : user.recordName }
        return user == .caller ? (caller ?? user).recordName : user.recordName
    }
}
