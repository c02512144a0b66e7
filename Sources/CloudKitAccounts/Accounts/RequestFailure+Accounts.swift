import CloudKitModel

extension RequestFailure {
    static let malformedEmail = RequestFailure(.badRequest, "email is not an e-mail address")
    static let accountDisabled = RequestFailure(
        .accountRestricted, "this account is disabled", remedy: "Ask the operator of this cloud.")
    static let wrongSecret = RequestFailure(.authenticationFailed, "the secret is not known")
    static let wrongPassword = RequestFailure(
        .authenticationFailed, "wrong password", remedy: "Check it and try again.")
}
