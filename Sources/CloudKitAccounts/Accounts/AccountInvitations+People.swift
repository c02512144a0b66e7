import CloudKitRecordLayer

/// The decisions of an operator about an account before it is made.
package struct AccountPlan: Hashable, Sendable {
    /// The name of the person, if they give none themselves.
    package var name: String?
    /// The group of the account.
    package var group: AccountGroup?
    /// The space of the account; nil: the cloud's.
    package var quota: AccountQuota?

    /// Creates a plan.
    package init(name: String? = nil, group: AccountGroup? = nil, quota: AccountQuota? = nil) {
        self.name = name
        self.group = group
        self.quota = quota
    }
}

/// A person of whom an operator wants that they have an account.
package struct InvitedPerson: Hashable, Sendable {
    /// The address of the account.
    package var email: EmailAddress
    /// The decisions about the account.
    package var plan: AccountPlan

    /// Creates a person.
    package init(email: EmailAddress, plan: AccountPlan = AccountPlan()) {
        self.email = email
        self.plan = plan
    }
}

extension AccountInvitations {
    /// The outcome for one person.
    package enum Outcome: Hashable, Sendable {
        /// There is an account; its group and quota were changed, or are as they should be.
        case account(isChanged: Bool)
        /// There is an invitation that can be used; what it says of the account was changed, or is as it should be.
        case invitedBefore(AccountInvitation, isChanged: Bool)
        /// There is a new invitation. Its code cannot be read again.
        case invited(code: String, AccountInvitation)
    }

    /// Invites those people who have neither an account nor an invitation, and gives the accounts and invitations of the others the group and
    /// quota of the plan, where it has one. Either all of it takes effect or none. Done again, it changes nothing.
    ///
    /// - Parameters:
    ///   - people: Each with an address of their own.
    ///   - days: Days until new invitations expire.
    ///   - isRepeated: Whether people who are invited get a new invitation, in place of the earlier one.
    ///   - isDryRun: Whether nothing is changed.
    ///   - isMailed: Whether the links go to the mailboxes of the addresses alone.
    /// - Returns: The outcomes, in the order of the people.
    package func invite(
        _ people: [InvitedPerson], days: Int, isRepeated: Bool = false, isDryRun: Bool = false,
        isMailed: Bool = false
    ) async throws -> [Outcome] {
        guard (1...Self.daysMax).contains(days) else { throw AccountError.invitationBounds }
        let now = store.serverEnvironment.now()
        return try await store.write { transaction in
            var open: [String: AccountInvitation] = [:]
            for row in try await AccountInvitation.table.rows(in: transaction) where row.state(at: now) == .open {
                if let email = row.email { open[email] = row }
            }
            var outcomes: [Outcome] = []
            for person in people {
                if var account = try await transaction.account(person.email) {
                    let isChanged = account.take(person.plan)
                    if isChanged, !isDryRun { try Account.table.set(account.id, to: account, in: &transaction) }
                    outcomes.append(.account(isChanged: isChanged))
                    continue
                }
                let held = open[person.email.normalised]
                if var row = held, !isRepeated {
                    let isChanged = row.take(person.plan)
                    if isChanged, !isDryRun { try AccountInvitation.table.set(row.hash, to: row, in: &transaction) }
                    outcomes.append(.invitedBefore(row, isChanged: isChanged))
                    continue
                }
                var (code, row) = newInvitation(email: person.email, uses: 1, days: days, now: now)
                _ = row.take(person.plan)
                row.isMailed = isMailed
                if !isDryRun {
                    if let held { AccountInvitation.table.clear(held.hash, in: &transaction) }
                    try AccountInvitation.table.set(row.hash, to: row, in: &transaction)
                }
                outcomes.append(.invited(code: code, row))
            }
            return outcomes
        }
    }
}

extension Account {
    /// Takes over the group and the quota of a plan that has one; the name is the person's own.
    ///
    /// - Returns: Whether that changes the account.
    fileprivate mutating func take(_ plan: AccountPlan) -> Bool {
        let before = self
        if let group = plan.group { self.group = group.name }
        if let quota = plan.quota { self.quota = quota }
        return self != before
    }
}

extension AccountInvitation {
    /// Takes over what a plan says of the account.
    ///
    /// - Returns: Whether that changes the invitation.
    mutating func take(_ plan: AccountPlan) -> Bool {
        let before = self
        if let name = plan.name { self.name = name }
        if let group = plan.group { self.group = group.name }
        if let quota = plan.quota { self.quota = quota }
        return self != before
    }

    /// Returns a new account as the operator has decided.
    func applied(to account: Account) -> Account {
        var account = account
        if account.name.isEmpty, let name { account.name = name }
        account.group = group
        account.quota = quota ?? .cloud
        account.isEmailProved = isMailed && email == account.email
        return account
    }
}
