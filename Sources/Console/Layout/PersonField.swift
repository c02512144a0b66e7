import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The field of forms that names a user of a container.
enum PersonField {
    /// What to write there.
    static let hint = "An e-mail address, or the user's record name in this container."

    /// Returns the user whom a field names.
    ///
    /// - Throws: `FormProblem` for no such user.
    static func user(_ request: PageRequest, field: String) async throws -> UserID {
        let place = try request.place
        let names = request.cloud.accountStore.userNames
        switch try person(request, field: field) {
        case .email(let email):
            guard let account = try await request.cloud.accountStore.accounts.account(email: email) else {
                throw FormProblem(field, "there is no account of this address")
            }
            return try await names.name(of: account.id, in: place.container)
        case .user(let user):
            guard try await names.owner(of: user, in: place.container) != nil else {
                throw FormProblem(field, "the container knows no user of this name")
            }
            return user
        case nil: throw FormProblem(field, "name a person", remedy: hint)
        }
    }

    /// Returns the user of this container whom a field names, as one that has been to it.
    ///
    /// - Throws: `FormProblem` for no such user; the same whether the cloud has an account of the address or not, because operators of one
    ///   container do not learn who else has one.
    static func knownUser(_ request: PageRequest, field: String) async throws -> UserID {
        let place = try request.place
        guard case .email(let email)? = try person(request, field: field) else {
            return try await user(request, field: field)
        }
        guard let account = try await request.cloud.accountStore.accounts.account(email: email),
            let user = try await request.cloud.accountStore.userNames.knownName(of: account.id, in: place.container)
        else {
            throw FormProblem(field, "no user of this container has this address")
        }
        return user
    }

    /// Returns what a field says; nil for an empty one.
    static func person(_ request: PageRequest, field: String) throws -> FaultOrder.Person? {
        guard let text = request.form[field]?.trimming else { return nil }
        return text.contains("@") ? .email(text) : .user(UserID(text))
    }
}

extension String {
    /// The text without spaces around it; nil when nothing is left.
    var trimming: String? {
        let text = drop { $0.isWhitespace }
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return nil }
        return String(text[...last])
    }
}
