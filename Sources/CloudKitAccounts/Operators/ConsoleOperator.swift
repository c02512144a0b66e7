import CloudKitModel

/// An operator who is signed in to the Console.
package struct ConsoleOperator: Hashable, Sendable {
    /// The part of the cloud that an operator may see and change.
    package enum Scope: Hashable, Sendable {
        /// The whole cloud.
        case all
        /// One container, in both environments.
        case container(ContainerID)

        /// Returns whether a container is part of it.
        package func includes(_ container: ContainerID) -> Bool {
            switch self {
            case .all: true
            case .container(let own): own == container
            }
        }
    }

    /// The name in the log: the id of the token, or of the account.
    package var id: String
    /// The name on pages.
    package var name: String
    /// The part of the cloud that the operator may see and change.
    package var scope: Scope

    /// Creates an operator.
    package init(id: String, name: String, scope: Scope) {
        self.id = id
        self.name = name
        self.scope = scope
    }

    init(_ token: OperatorToken) {
        self.init(id: token.id, name: token.name.isEmpty ? token.id : token.name, scope: .all)
    }

    init(_ account: Account, _ role: OperatorAccount) {
        self.init(
            id: String(account.id.prefix(12)), name: account.email,
            scope: role.container.map { .container(ContainerID($0)) } ?? .all)
    }
}
