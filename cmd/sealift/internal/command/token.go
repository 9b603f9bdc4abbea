package command

import (
	"context"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/token"
)

func (a *app) tokenCommand() *cobra.Command {
	var claims token.Claims
	var keyFile string
	command := &cobra.Command{
		Use: "token", Short: "Mint a token for the embedded cloud", Args: exactly(),
		Long: `Mint a token with the key of the embedded cloud's issuer, which only exists on the machine that runs it. The token
goes to stdout. A real deployment has an issuer of its own; get tokens there.

Roles that Sealift itself knows:
  sealift:operator         apply definitions, and see all of them whole
  sealift:tenant-exports   see, cancel and download every export of the tenant
Definitions may name others.`,
		Example: `  export SEALIFT_TOKEN=$(sealift token --tenant acme --subject ana@acme.example)
  sealift token --tenant acme --subject ops@acme.example --role sealift:operator --ttl 10m > operator.token`,
		RunE: a.do(func(context.Context, []string) error {
			if err := claims.Validate(); err != nil {
				return usage(err)
			}
			minted, err := token.Mint(keyFile, claims, a.system.Now(), a.system.NewID())
			if err != nil {
				return err
			}
			if a.json {
				return a.out.json(map[string]string{"token": minted})
			}
			a.out.printf("%s\n", minted)
			return nil
		}),
	}
	flags := command.Flags()
	flags.StringVar(&claims.Tenant, "tenant", "", "tenant that the token speaks for")
	flags.StringVar(&claims.Subject, "subject", "", "user that the token is for")
	flags.StringArrayVar(&claims.Roles, "role", nil, "role of the user; may be given several times")
	flags.DurationVar(&claims.TTL, "ttl", token.DefaultTTL, "how long the token lives")
	flags.StringVar(&claims.Issuer, "issuer", token.DefaultIssuer, "issuer that the deployment believes")
	flags.StringVar(&claims.Audience, "audience", token.DefaultAudience, "audience that the deployment wants")
	flags.StringVar(&keyFile, "issuer-key", token.DefaultKeyFile, "private key of the issuer")
	return command
}
